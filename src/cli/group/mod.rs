//! `highwater group`: list, describe, reset offsets, delete.

mod behind;
mod csv;
mod delete;
mod describe;
mod lag;
mod list;
mod plan;
mod reset;
mod scope;

use std::io::Write;

use clap::Subcommand;

use super::CommandError;
use super::session;

/// What to do with groups.
#[derive(Debug, Subcommand)]
pub enum GroupCommand {
    /// List the groups with their members and how many records they are behind
    #[command(after_help = "\
Examples:
  highwater group list
  highwater group list --state empty,dead       those that nobody is in
  highwater group list --type consumer          those of the new protocol (KIP-848)")]
    List(list::ListArguments),
    /// Show how far a group has read, how far it is behind, and who is in it
    #[command(after_help = "\
Examples:
  highwater group describe shipping             offsets and lag of each partition
  highwater group describe shipping --members   members and what they were assigned
  highwater group describe shipping --state     state, assignor, coordinator")]
    Describe(describe::DescribeArguments),
    /// Set the committed offsets of a group that has no members; shows what it would do unless told to --execute
    #[command(after_help = "\
Examples:
  highwater group reset-offsets shipping --all-topics --to-earliest
  highwater group reset-offsets shipping --topic orders --to-datetime 2026-05-01T08:00:00Z --execute
  highwater group reset-offsets shipping --topic orders:0,2 --topic returns --shift-by -100
  highwater group reset-offsets shipping --all-topics --by-duration PT15M --execute
  highwater group reset-offsets shipping --all-topics --to-current --export > offsets.csv
  highwater group reset-offsets shipping --from-file offsets.csv --execute")]
    ResetOffsets(reset::ResetArguments),
    /// Delete groups with their committed offsets; refused while they have members
    #[command(after_help = "Example:\n  highwater group delete shipping billing")]
    Delete(delete::DeleteArguments),
    /// Delete committed offsets of some topics; refused while a member subscribes to them
    #[command(after_help = "\
Examples:
  highwater group delete-offsets shipping --topic orders
  highwater group delete-offsets shipping --topic orders:0,2 --topic returns")]
    DeleteOffsets(delete::DeleteOffsetsArguments),
}

pub(super) fn run(command: GroupCommand, out: &mut dyn Write) -> Result<(), CommandError> {
    session::run(async {
        match command {
            GroupCommand::List(arguments) => list::list(&arguments, out).await,
            GroupCommand::Describe(arguments) => describe::describe(&arguments, out).await,
            GroupCommand::ResetOffsets(arguments) => reset::reset(&arguments, out).await,
            GroupCommand::Delete(arguments) => delete::delete(&arguments, out).await,
            GroupCommand::DeleteOffsets(arguments) => delete::delete_offsets(&arguments, out).await,
        }
    })
}
