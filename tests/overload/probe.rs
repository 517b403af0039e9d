//! How long a single record takes.

use std::fmt;
use std::time::{Duration, Instant};

use bytes::Bytes;

use crate::clients::produce_request;
use crate::processes::PATIENCE;
use crate::raw::Connection;

const RECORDS: usize = 300;
/// What a machine that does much else may add.
const SLACK: [Duration; 2] = [Duration::from_millis(3), Duration::from_millis(60)];

/// Round trips of single records, one in flight.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RoundTrips {
    p50: Duration,
    p95: Duration,
}

pub(crate) fn round_trips(address: &str, topic: &str) -> RoundTrips {
    let mut connection = Connection::open(address, PATIENCE).unwrap();
    let request = produce_request(topic, 0, Bytes::from_static(b"a short value"));
    let time = |_| {
        let began = Instant::now();
        let answer = connection.call(9, &request).unwrap();
        assert_eq!(answer.responses[0].partition_responses[0].error_code, 0);
        began.elapsed()
    };
    let mut times: Vec<Duration> = (0..RECORDS).map(time).collect();
    times.sort_unstable();
    RoundTrips { p50: times[RECORDS / 2], p95: times[RECORDS * 95 / 100] }
}

impl RoundTrips {
    /// No worse than twice what the others are.
    pub(crate) fn assert_like(self, others: [Self; 2]) {
        let [first, second] = others;
        let (p50, p95) = (first.p50.max(second.p50), first.p95.max(second.p95));
        assert!(self.p50 <= 2 * p50 + SLACK[0], "half of them");
        assert!(self.p95 <= 2 * p95 + SLACK[1], "95 of 100");
    }
}

impl fmt::Display for RoundTrips {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let millis = |time: Duration| time.as_secs_f64() * 1e3;
        write!(f, "p50 {:.2} ms, p95 {:.2} ms", millis(self.p50), millis(self.p95))
    }
}
