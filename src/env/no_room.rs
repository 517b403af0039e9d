//! Errors of files that say nothing about the disk's health.

use std::io;

use rustix::io::Errno;

/// True if the disk is full or the process may open no more files: what was not written can be written later.
pub fn is_no_room(error: &io::Error) -> bool {
    let no_descriptor = [Errno::MFILE, Errno::NFILE].map(Errno::raw_os_error);
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
        || error.raw_os_error().is_some_and(|code| no_descriptor.contains(&code))
}

/// True if a name is not there, or not what it should be, or may not be used: that says something of one file, or of the directory it
/// is in, and nothing of the disk.
pub fn is_of_a_name(error: &io::Error) -> bool {
    use io::ErrorKind::{IsADirectory, NotADirectory, NotFound, PermissionDenied};
    matches!(error.kind(), NotFound | PermissionDenied | IsADirectory | NotADirectory)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_may_come_back_and_a_broken_disk_does_not() {
        for errno in [Errno::NOSPC, Errno::DQUOT, Errno::MFILE, Errno::NFILE] {
            assert!(is_no_room(&errno.into()), "{errno}");
        }
        for errno in [Errno::IO, Errno::ROFS, Errno::NOENT] {
            assert!(!is_no_room(&errno.into()), "{errno}");
        }
    }
}
