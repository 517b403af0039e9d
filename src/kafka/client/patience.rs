//! Trying again while a cluster settles: on brokers that apply metadata behind its commit, as Apache Kafka does, a topic is
//! not led for a moment after it was created, and a coordinator loads before it answers.

use std::time::Duration;

use super::ClientError;
use crate::kafka::ErrorCode;

/// The first pause; each is twice as long as the one before.
const PAUSE: Duration = Duration::from_millis(20);

/// Tries in all: the pauses add up to ten seconds.
const TRIES_MAX: u32 = 9;

/// How often something has been tried.
#[derive(Debug, Default)]
pub(super) struct Patience {
    tries: u32,
}

impl Patience {
    /// Waits a while and returns true if trying again may help.
    pub(super) async fn allows(&mut self, error: &ClientError) -> bool {
        error.code().is_some_and(passes) && self.has_more().await
    }

    /// Waits a while and returns true unless it has been tried often enough.
    pub(super) async fn has_more(&mut self) -> bool {
        let Some(pause) = self.next_pause() else { return false };
        // The protocol has no way to be told, so a client asks again.
        tokio::time::sleep(pause).await;
        true
    }

    fn next_pause(&mut self) -> Option<Duration> {
        let pause = (self.tries < TRIES_MAX).then(|| PAUSE * 2_u32.pow(self.tries))?;
        self.tries += 1;
        Some(pause)
    }
}

/// Codes of a state that ends by itself.
fn passes(code: ErrorCode) -> bool {
    const PASSING: [ErrorCode; 4] = [
        ErrorCode::LeaderNotAvailable,
        ErrorCode::NotLeaderOrFollower,
        ErrorCode::CoordinatorLoadInProgress,
        ErrorCode::CoordinatorNotAvailable,
    ];
    PASSING.contains(&code)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(code: ErrorCode) -> ClientError {
        ClientError::Broker { what: "t-0".to_owned(), code, message: None }
    }

    #[test]
    fn it_lasts_about_ten_seconds() {
        let mut patience = Patience::default();
        let pauses: Duration = std::iter::from_fn(|| patience.next_pause()).sum();
        assert_eq!(pauses.as_secs(), 10);
    }

    #[tokio::test]
    async fn only_what_passes_is_tried_again() {
        assert!(Patience::default().allows(&refusal(ErrorCode::NotLeaderOrFollower)).await);
        assert!(!Patience::default().allows(&refusal(ErrorCode::InvalidTopicException)).await);
        assert!(!Patience::default().allows(&refusal(ErrorCode::UnknownTopicOrPartition)).await);
    }
}
