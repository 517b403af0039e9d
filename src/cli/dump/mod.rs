//! `highwater dump`: shows the files of a log directory as they are, and checks them (Kafka's `DumpLogSegments`).
//!
//! It only reads, takes no lock and holds no more than one batch in memory, so it may run beside a broker and on any bytes.
//! What is damaged is said with its place, and what follows it is shown.

mod decode;
mod entry;
mod indexes;
mod output;
mod paths;
mod records;
mod segment;
mod small_files;
mod stream;
#[cfg(test)]
mod tests;
pub(super) mod walk;

use std::io::Write;
use std::path::PathBuf;

use clap::Args;

use self::decode::Decoding;
use self::indexes::{OffsetIndex, TimeIndex};
use self::output::Output;
use self::paths::{FileKind, Found};
use super::CommandError;
use crate::env::Env;
use crate::types::Offset;

/// What to show, and how.
#[derive(Clone, Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub struct DumpArguments {
    /// Files, partition directories or whole log directories
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<PathBuf>,
    /// Show every record of a batch, not just the batch (Kafka: --print-data-log, --deep-iteration)
    #[arg(long, short, alias = "print-data-log", alias = "deep-iteration")]
    records: bool,
    /// What the records of the logs are; auto goes by the name of the directory
    #[arg(long, value_name = "KIND", value_enum, default_value_t = Decoding::Auto)]
    decode: Decoding,
    /// Only batches and records with these offsets: FROM..TO (without TO), FROM.. or one offset
    #[arg(long, value_name = "RANGE", value_parser = offset_range)]
    offsets: Option<OffsetRange>,
    /// Read no more than this of each log
    #[arg(long, value_name = "BYTES")]
    max_bytes: Option<u64>,
    /// Show only what is wrong: checks every batch and record, and the indexes against their log
    #[arg(long, conflicts_with = "records")]
    verify: bool,
    /// One JSON object a line; bytes that are no text are base64 in a field of their own
    #[arg(long)]
    json: bool,
    /// Show stored keys of SCRAM credentials too
    #[arg(long)]
    secrets: bool,
}

/// Offsets from the first one up to, without, the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct OffsetRange {
    from: Offset,
    to: Offset,
}

impl OffsetRange {
    const ALL: Self = Self { from: Offset::new(i64::MIN), to: Offset::new(i64::MAX) };

    fn holds(self, offset: Offset) -> bool {
        self.from <= offset && offset < self.to
    }

    /// Whether any offset of a batch is wanted.
    fn meets(self, first: Offset, last: Offset) -> bool {
        self.from <= last && first < self.to
    }
}

fn offset_range(text: &str) -> Result<OffsetRange, String> {
    let number = |text: &str| text.parse().ok().filter(|offset| *offset >= 0).map(Offset::new);
    let range = match text.split_once("..") {
        Some((from, "")) => number(from).map(|from| OffsetRange { from, to: OffsetRange::ALL.to }),
        Some((from, to)) => number(from).zip(number(to)).map(|(from, to)| OffsetRange { from, to }),
        None => number(text).map(|from| OffsetRange { from, to: from.plus(1) }),
    };
    range.ok_or_else(|| "expected FROM..TO, FROM.. or one offset, such as 100..200".to_owned())
}

pub(super) fn run(arguments: &DumpArguments, out: &mut dyn Write) -> Result<(), CommandError> {
    let env = Env::system();
    let found = paths::find(env.files.as_ref(), &arguments.paths)?;
    let mut output = Output::new(out, arguments);
    for found in &found {
        output.begin(found);
        dump_file(&env, arguments, found, &mut output)?;
        output.end()?;
    }
    output.finish(found.len())
}

/// What cannot be read of one file is said, and the next one comes.
fn dump_file(
    env: &Env,
    arguments: &DumpArguments,
    found: &Found,
    output: &mut Output<'_>,
) -> Result<(), CommandError> {
    let files = env.files.as_ref();
    let shown = match found.kind {
        FileKind::Log(base) => segment::dump(files, arguments, found, base, output),
        FileKind::Snapshot => segment::dump(files, arguments, found, Offset::ZERO, output),
        FileKind::OffsetIndex(base) => {
            indexes::dump::<OffsetIndex, _>(files, arguments, found, base, output)
        }
        FileKind::TimeIndex(base) => {
            indexes::dump::<TimeIndex, _>(files, arguments, found, base, output)
        }
        FileKind::AbortedIndex(base) => indexes::aborted(files, found, base, output),
        _ => small_files::dump(files, found, output),
    };
    match shown {
        Err(DumpError::Read(error)) => {
            Ok(output.problem(None, &format!("it cannot be read: {error}"))?)
        }
        Err(DumpError::Write(error)) => Err(error.into()),
        Ok(()) => Ok(()),
    }
}

/// Why a file is not shown to its end.
#[derive(Debug, thiserror::Error)]
enum DumpError {
    /// The disk, or a file that is gone by now.
    #[error(transparent)]
    Read(std::io::Error),
    /// Nobody takes the output.
    #[error(transparent)]
    Write(#[from] std::io::Error),
}
