//! Whether a look into a segment's files may wait for the disk.

use std::io;

use crate::env::File;

/// How files are asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    /// Waits for the disk where it must.
    Blocking,
    /// Takes what the page cache has of files that are open, and fails with [`io::ErrorKind::WouldBlock`] where that is not
    /// enough.
    Cached,
}

impl Access {
    /// Reads up to `buffer.len()` bytes, fewer only at the end of the file. What is cached must fill the buffer.
    pub(super) fn read(
        self,
        file: &dyn File,
        buffer: &mut [u8],
        position: u64,
    ) -> io::Result<usize> {
        match self {
            Self::Blocking => file.read_at(buffer, position),
            Self::Cached => match file.read_resident_at(buffer, position)? {
                Some(read) if read == buffer.len() => Ok(read),
                Some(_) | None => Err(io::ErrorKind::WouldBlock.into()),
            },
        }
    }
}
