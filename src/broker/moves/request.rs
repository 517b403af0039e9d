//! What AlterReplicaLogDirs asks for (Kafka's `ReplicaManager.alterReplicaLogDirs`).

use std::path::Path;
use std::sync::Arc;

use super::Move;
use crate::broker::data_directory::DataDirectory;
use crate::broker::registry::Lookup;
use crate::broker::{Broker, OpenPartitionError};
use crate::log::moving::{CopyError, LogCopy};
use crate::storage::{NAME_LENGTH_MAX, future_name};
use crate::types::{TopicName, TopicPartition};

/// Why a partition is not moved.
#[derive(Debug, thiserror::Error)]
pub enum MoveRequestError {
    /// The directory of the copy would have a name that no file system takes.
    #[error("the topic name is too long")]
    NameTooLong,
    /// Not among `log.dirs`.
    #[error("the log directory is not among log.dirs")]
    NoSuchDirectory,
    /// There is no such partition here. If it is created later in this life of the broker, it goes to the directory.
    #[error("there is no such partition yet")]
    UnknownPartition,
    /// The directory, that of the partition, or any other does not work: nobody can tell then whether a copy lies there already.
    #[error("a log directory is offline")]
    Offline,
    /// The log cannot be opened, or no thread be started.
    #[error("{0}")]
    Failed(String),
}

impl Broker {
    /// Why nothing moves whose topic has a name that none can have.
    pub fn refuse_move(&self, topic: &str, directory: &str) -> MoveRequestError {
        if topic.len() > TopicName::LENGTH_MAX {
            return MoveRequestError::NameTooLong;
        }
        self.named_directory(directory).err().unwrap_or(MoveRequestError::UnknownPartition)
    }

    /// Moves a partition into the log directory with this absolute path; nothing happens if it lies there already. Another
    /// move of it is called off. Returns once the move has begun. Blocks.
    pub fn move_partition(
        &self,
        name: &TopicPartition,
        directory: &str,
    ) -> Result<(), MoveRequestError> {
        let future = future_name(name, self.env.random.uuid());
        if future.len() > NAME_LENGTH_MAX {
            return Err(MoveRequestError::NameTooLong);
        }
        let to = self.named_directory(directory)?;
        let image = self.metadata.image();
        let topic = image.topic(name.topic.as_str());
        let known = topic.map(|topic| (topic, self.partitions.find(topic, name.partition)));
        let Some((topic, lookup @ (Lookup::Open(_) | Lookup::Closed(_)))) = known else {
            // It is remembered where it is to go, and refused nevertheless.
            self.metadata.prefer_directory(name, to.id());
            return Err(MoveRequestError::UnknownPartition);
        };
        // One at a time, so that two requests do not begin two moves of one partition.
        let _one = self.moves.lock_requests();
        if self.moves.of(name).is_some_and(|other| Arc::ptr_eq(other.to(), &to)) {
            return Ok(());
        }
        self.moves.call_off(name);
        let partition = match lookup {
            Lookup::Open(partition) => partition,
            Lookup::Closed(closed) => closed.open()?,
            Lookup::Unknown => return Err(MoveRequestError::UnknownPartition),
        };
        if partition.directory().is_offline() {
            return Err(MoveRequestError::Offline);
        }
        if Arc::ptr_eq(&partition.directory(), &to) {
            return Ok(());
        }
        if self.partitions.placement().offline_count() > 0 {
            return Err(MoveRequestError::Offline);
        }
        let future = to.path().join(future);
        // The directory is the move's mark on disk: once it is answered, it goes on at the next start.
        if let Err(error) = LogCopy::begin(&self.env.files, &future, topic.id) {
            if let CopyError::Target(source) = &error {
                to.fail(&format!("copying {name} failed: {source}"));
            }
            return Err(MoveRequestError::Failed(error.to_string()));
        }
        let job = Move::new(name.clone(), topic.id, to, future);
        self.moves.begin(Arc::clone(&job)).map_err(|error| {
            self.moves.call_off(name);
            self.moves.clear(&job);
            MoveRequestError::Failed(error.to_string())
        })
    }

    fn named_directory(&self, directory: &str) -> Result<Arc<DataDirectory>, MoveRequestError> {
        let is_named = |path: &Path| {
            std::path::absolute(path).is_ok_and(|absolute| absolute == Path::new(directory))
        };
        let placement = self.partitions.placement();
        if placement.failed().iter().any(|failed| is_named(&failed.path)) {
            return Err(MoveRequestError::Offline);
        }
        let found = placement.directories().iter().find(|found| is_named(found.path()));
        let found = found.ok_or(MoveRequestError::NoSuchDirectory)?;
        if found.is_offline() {
            return Err(MoveRequestError::Offline);
        }
        Ok(Arc::clone(found))
    }
}

impl From<OpenPartitionError> for MoveRequestError {
    fn from(error: OpenPartitionError) -> Self {
        match error {
            OpenPartitionError::Removed => Self::UnknownPartition,
            OpenPartitionError::Offline | OpenPartitionError::NoSuchDirectory(_) => Self::Offline,
            OpenPartitionError::Log(_) | OpenPartitionError::Sync { .. } => {
                Self::Failed(error.to_string())
            }
        }
    }
}
