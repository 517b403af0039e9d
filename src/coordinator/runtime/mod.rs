//! Gives each shard its log, its mailbox and its timers.
