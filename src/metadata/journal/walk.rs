//! Walks over the batches of a file, a chunk at a time, and stops at the first that is not as it was written.

use std::io;

use crate::env::File;
use crate::log::scan::{ScanEnd, StoredBatch, scan};

const CHUNK_BYTES: u64 = 1024 * 1024;

/// What a visitor makes of a batch.
pub enum Verdict<E> {
    /// As it should be.
    Good,
    /// Not as it was written; the walk ends before it.
    Damaged(String),
    /// The walk cannot go on.
    Fatal(E),
}

/// How a walk ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Walked {
    /// Bytes of good batches from the start of the file.
    pub good_bytes: u64,
    /// Bytes of the file.
    pub file_bytes: u64,
    /// What follows the good batches, if anything does.
    pub damage: Option<String>,
}

/// A walk that could not be finished.
pub enum WalkError<E> {
    /// The disk failed.
    Io(io::Error),
    /// The visitor gave up.
    Fatal(E),
}

/// Shows every whole batch of `file` to `visit`, in order.
pub fn walk<E>(
    file: &dyn File,
    mut visit: impl FnMut(&StoredBatch<'_>) -> Verdict<E>,
) -> Result<Walked, WalkError<E>> {
    let file_bytes = file.len().map_err(WalkError::Io)?;
    let mut good_bytes = 0;
    let mut wanted = CHUNK_BYTES;
    let mut chunk = Vec::new();
    let ended = |good_bytes, damage| Ok(Walked { good_bytes, file_bytes, damage });
    while good_bytes < file_bytes {
        read_chunk(file, good_bytes, wanted.min(file_bytes - good_bytes), &mut chunk)
            .map_err(WalkError::Io)?;
        let mut batches = scan(&chunk);
        for (position, batch) in batches.by_ref() {
            match visit(&batch) {
                Verdict::Good => {}
                Verdict::Damaged(why) => return ended(good_bytes + position as u64, Some(why)),
                Verdict::Fatal(e) => return Err(WalkError::Fatal(e)),
            }
        }
        good_bytes += batches.position() as u64;
        wanted = CHUNK_BYTES;
        match batches.ending() {
            Some(ScanEnd::Partial(needed)) if good_bytes + needed as u64 <= file_bytes => {
                wanted = wanted.max(needed as u64);
            }
            Some(ScanEnd::Partial(_)) => {
                return ended(good_bytes, Some("the last batch is cut off".to_owned()));
            }
            Some(ScanEnd::Corrupt(e)) => return ended(good_bytes, Some(e.to_string())),
            Some(ScanEnd::Exhausted) | None => {}
        }
    }
    ended(good_bytes, None)
}

fn read_chunk(file: &dyn File, at: u64, bytes: u64, chunk: &mut Vec<u8>) -> io::Result<()> {
    let len = usize::try_from(bytes).map_err(|_| io::ErrorKind::FileTooLarge)?;
    chunk.resize(len, 0);
    let read = file.read_at(chunk, at)?;
    if read < len {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(())
}
