//! How long the first record that a group has not read has been waiting.

use std::time::Duration;

use super::lag::{Ends, Named};
use crate::cli::CommandError;
use crate::cli::fetched;
use crate::cli::session::failed;
use crate::env::{Clock, SystemClock};
use crate::kafka::client::{Client, FetchFrom};
use crate::log::Isolation;
use crate::log::scan::scan;
use crate::types::{Offset, Timestamp};

/// Enough for one batch, which comes whole however large it is.
const FETCH_BYTES: i32 = 1;

/// Batches without a record that counts (ends of transactions, what compaction has left) that are passed before giving up.
const FETCHES_MAX: usize = 16;

/// Age of the record at `committed`, or of the next one there is. `None` if there is none.
pub(super) async fn behind(
    client: &mut Client,
    named: &Named,
    committed: Offset,
    ends: Ends,
) -> Result<Option<Duration>, CommandError> {
    let mut next = committed.max(ends.first);
    for _ in 0..FETCHES_MAX {
        if next >= ends.end {
            break;
        }
        let from = FetchFrom {
            topic: &named.0,
            partition: named.1,
            offset: next,
            wait: Duration::ZERO,
            bytes_max: FETCH_BYTES,
            isolation: Isolation::ReadUncommitted,
        };
        let fetched = client.fetch(from).await.map_err(|error| failed(&error))?;
        let Some((_, stored)) = scan(&fetched.records).next() else { break };
        // A batch that cannot be read is a matter for whoever consumes it, not for this question.
        let records = fetched::read(&stored).unwrap_or_default();
        if let Some(record) = records.iter().find(|record| record.offset >= next) {
            return Ok(age(record.timestamp, SystemClock::default().wall()));
        }
        next = stored.last_offset().plus(1).max(next.plus(1));
    }
    Ok(None)
}

fn age(timestamp: Timestamp, now: Timestamp) -> Option<Duration> {
    if timestamp < Timestamp::new(0) {
        return None;
    }
    // A clock that runs ahead has written a record of the future: it waits since now.
    let millis = now.get().saturating_sub(timestamp.get());
    Some(Duration::from_millis(u64::try_from(millis).unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_without_a_time_has_no_age_and_one_of_the_future_is_new() {
        let age = |timestamp, now| age(Timestamp::new(timestamp), Timestamp::new(now));
        assert_eq!(age(-1, 5_000), None);
        assert_eq!(age(2_000, 5_000), Some(Duration::from_secs(3)));
        assert_eq!(age(6_000, 5_000), Some(Duration::ZERO));
    }
}
