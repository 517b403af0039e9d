//! A shard of transactions, step by step.

mod life;

use super::stepper::*;
use super::*;
use crate::types::Outcome::{Abort, Commit};
use crate::types::TransactionVersion::{V1, V2};

type E = TransactionError;
type S = TransactionState;
