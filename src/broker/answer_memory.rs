//! Memory of long answers: taken out of the byte budget before an answer is built, given back when the peer has it.
//!
//! They may have [`BUDGET_SHARE`] of the budget, so that peers that ask for everything and read nothing cost others their long
//! answers and not their requests.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;

use crate::env::{ByteBudget, BytePermit};

/// The part of the budget that long answers may have, one byte in so many.
const BUDGET_SHARE: usize = 4;

/// How long a request waits for memory before it is refused: others may keep theirs for as long as their peers do not read.
const WAIT: Duration = Duration::from_secs(30);

/// Memory of all long answers of a broker.
#[derive(Debug)]
pub struct AnswerMemory {
    budget: Arc<ByteBudget>,
    share: Arc<ByteBudget>,
    wait: Duration,
}

/// Memory of one answer; dropping it gives it back.
#[derive(Debug)]
pub struct AnswerPermit {
    whole: BytePermit,
    share: BytePermit,
}

impl AnswerMemory {
    /// Nothing taken yet.
    pub fn new(budget: Arc<ByteBudget>) -> Arc<Self> {
        let share = ByteBudget::new(budget.limit_bytes() / BUDGET_SHARE);
        Arc::new(Self { budget, share, wait: WAIT })
    }

    /// Bytes taken now.
    pub fn used_bytes(&self) -> usize {
        self.share.used_bytes()
    }

    /// Takes memory for an answer of about `bytes`, waiting while others have it; `None` if they keep it for too long. An
    /// answer that never fits gets all there is: such answers are built one at a time. Cancel safe.
    pub async fn take(&self, bytes: usize) -> Option<AnswerPermit> {
        let bytes = bytes.min(self.share.limit_bytes());
        let take = async {
            let share = self.share.take(bytes).await?;
            let whole = self.budget.take(bytes).await?;
            Some(AnswerPermit { whole, share })
        };
        timeout(self.wait, take).await.ok().flatten()
    }

    /// Takes memory if it is there now.
    pub fn try_take(&self, bytes: usize) -> Option<AnswerPermit> {
        let share = self.share.try_take(bytes)?;
        let whole = self.budget.try_take(bytes)?;
        Some(AnswerPermit { whole, share })
    }
}

impl AnswerPermit {
    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.share.bytes()
    }

    /// Holds what the answer has turned out to take.
    pub fn resize(&mut self, bytes: usize) {
        self.whole.resize(bytes);
        self.share.resize(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn answers_wait_for_their_part_of_the_budget_and_are_refused_in_the_end() {
        let budget = ByteBudget::new(400);
        let share = ByteBudget::new(100);
        let wait = Duration::from_millis(1);
        let answers = AnswerMemory { budget: Arc::clone(&budget), share, wait };
        let mut first = answers.take(60).await.expect("room");
        assert_eq!((answers.used_bytes(), budget.used_bytes()), (60, 60));
        assert!(answers.take(60).await.is_none(), "nobody gave anything back");
        first.resize(40);
        assert!(answers.take(60).await.is_some());
        drop(first);
        assert_eq!((answers.used_bytes(), budget.used_bytes()), (0, 0));
    }

    #[tokio::test]
    async fn an_answer_that_never_fits_is_built_alone() {
        let answers = AnswerMemory::new(ByteBudget::new(400));
        let huge = answers.take(1_000).await.expect("all there is");
        assert!(answers.try_take(1).is_none());
        drop(huge);
        assert!(answers.try_take(1).is_some());
    }
}
