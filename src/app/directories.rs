//! What is wrong with a log directory, and what a start makes of it.
//!
//! | what is wrong | what happens, as in Kafka |
//! |---|---|
//! | it cannot be made, read, locked for lack of permissions or written; its `meta.properties` is damaged | its partitions are offline, the others are served; the end of the start for the one with the metadata |
//! | it belongs to another node or cluster; another process holds it; it is named twice, also by two paths | the start ends: nothing was changed in any of them |
//! | it is missing or empty | it is formatted |

use crate::env::LockError;
use crate::storage::{FoundDirectory, OpenDirectoryError};

/// What takes a directory offline; the rest are mistakes of an operator, who must hear of them before anything is written.
pub(super) fn is_failure_of_disk(error: &OpenDirectoryError) -> bool {
    match error {
        OpenDirectoryError::Io { .. } | OpenDirectoryError::Damaged { .. } => true,
        OpenDirectoryError::Lock { source, .. } => matches!(source, LockError::Io { .. }),
        OpenDirectoryError::OtherNode { .. }
        | OpenDirectoryError::OtherCluster { .. }
        | OpenDirectoryError::CannotServe { .. }
        | OpenDirectoryError::Twice { .. }
        | OpenDirectoryError::NotFormatted { .. } => false,
    }
}

/// A process may lock a file twice, so the lock does not show that two paths lead to one directory; its id does.
pub(super) fn refuse_repeated(directories: &[FoundDirectory]) -> Result<(), OpenDirectoryError> {
    for (number, second) in directories.iter().enumerate() {
        let same = directories[..number].iter().find(|first| {
            let id = first.directory_id();
            first.path() == second.path() || (id.is_some() && id == second.directory_id())
        });
        if let Some(first) = same {
            let (first, second) = (first.path().to_owned(), second.path().to_owned());
            return Err(OpenDirectoryError::Twice { first, second });
        }
    }
    Ok(())
}
