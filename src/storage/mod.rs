//! Bytes and names: the files of one log directory, apart from the logs in it.
//!
//! A [`LogDirectory`] owns the lock of its directory, its identity (`meta.properties`), the text checkpoints and the mark of
//! a clean stop. What the partition directories hold is the business of `log` and `metadata`.

pub mod checkpoint_file;
mod clean_shutdown;
mod directory_name;
mod found_directory;
mod log_directory;
mod meta_properties;

pub use checkpoint_file::{CheckpointError, OffsetCheckpoint};
pub use clean_shutdown::CleanShutdown;
pub use directory_name::{
    DirectoryName, METADATA_DIRECTORY, NAME_LENGTH_MAX, deleted_name, future_name, stray_name,
};
pub use found_directory::FoundDirectory;
pub use log_directory::{Checkpoint, LastStop, LogDirectory, OpenDirectoryError};
pub use meta_properties::{MetaProperties, MetaPropertiesError};
