//! Opening logs and reading them back.

use std::path::Path;
use std::sync::Arc;

use highwater::config::TopicSettings;
use highwater::env::{ByteBudget, Env, ManualClock};
use highwater::log::batch::BatchHeader;
use highwater::log::{
    AppendError, Appended, CheckedBatch, Log, LogStartCheckpoint, LogView, OpenLog, Origin, Part,
    ReadLimit, Slice, StartMode, TailPool, build_marker,
};
use highwater::types::{LeaderEpoch, Marker, Offset, Timestamp, Uuid};

/// When everything happens.
pub const NOW: Timestamp = Timestamp::new(1_700_000_000_000);

/// The real disk, a clock that stands still.
pub fn env() -> Env {
    Env { clock: Arc::new(ManualClock::new(NOW)), ..Env::system() }
}

pub fn topic_id() -> Uuid {
    Uuid::from_bytes([7; 16])
}

pub fn open_args(env: &Env, directory: &Path, settings: TopicSettings) -> OpenLog {
    OpenLog {
        env: env.clone(),
        directory: directory.to_owned(),
        topic_id: topic_id(),
        leader_epoch: None,
        settings: Arc::new(settings),
        tail_pool: TailPool::new(ByteBudget::new(64 << 20)),
        producer_id_expiration_ms: 86_400_000,
        start: StartMode::Clean,
        log_start: Offset::ZERO,
        log_start_checkpoint: LogStartCheckpoint::Read,
        cleaned_to: Offset::ZERO,
    }
}

pub fn open(args: &OpenLog) -> Log {
    Log::open(args.clone()).expect("the log opens")
}

/// Ends a transaction, as the coordinator does.
pub fn append_marker(
    log: &mut Log,
    marker: &Marker,
    epoch: LeaderEpoch,
) -> Result<Appended, AppendError> {
    let bytes = build_marker(marker, NOW).expect("memory");
    let header = BatchHeader::parse(&bytes).expect("a header");
    let origin = Origin::Marker(marker.version);
    let batch = CheckedBatch { header, bytes: bytes.into(), log_append_time: None, origin };
    log.append(&batch, epoch, NOW)
}

pub fn limit(end: Offset, bytes_max: usize) -> ReadLimit {
    ReadLimit { end, bytes_max, first_batch_whole: true }
}

/// All bytes of a slice.
pub fn bytes_of(slice: &Slice) -> Vec<u8> {
    let mut bytes = Vec::new();
    for part in &slice.parts {
        match part {
            Part::Shared(shared) => bytes.extend_from_slice(shared),
            Part::File { file, position, len } => {
                let mut buffer = vec![0; *len];
                assert_eq!(file.read_at(&mut buffer, *position).expect("readable"), *len);
                bytes.extend_from_slice(&buffer);
            }
        }
    }
    assert_eq!(bytes.len(), slice.len);
    bytes
}

/// The whole log from `from` on, read from files.
pub fn read_all(view: &LogView, from: Offset) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut from = from;
    while from < view.log_end {
        let slice = view.read_files(from, limit(view.log_end, 1 << 30)).expect("readable");
        let read = bytes_of(&slice);
        if read.is_empty() {
            break;
        }
        from = next_offset(&read);
        bytes.extend_from_slice(&read);
    }
    bytes
}

/// The offset behind the last whole batch of a read.
pub fn next_offset(bytes: &[u8]) -> Offset {
    let last = highwater::log::scan::scan(bytes).last().expect("a whole batch");
    last.1.last_offset().plus(1)
}
