//! Random bytes for every parser: no panic, no more memory than a small multiple of the input, no long work.
//!
//! Inputs are real ones, mutated. A case depends on seed, target and its number alone, so a failure comes again with the
//! values that it prints. More of them: `HIGHWATER_FUZZ_CASES=1000000 HIGHWATER_FUZZ_SEED=7 cargo test --release --test fuzz`.
//!
//! A target is one line in the table below: its name, its seeds, what to run.
#![allow(missing_docs, clippy::print_stdout, reason = "a test that prints its seed")]

mod allocator;
mod frames;
mod harness;
#[allow(dead_code, reason = "answers are not decoded here")]
#[path = "../wire/lifted.rs"]
mod lifted;
#[allow(dead_code, reason = "responses are not decoded here")]
#[path = "../wire/messages.rs"]
mod messages;
mod mutate;
mod seeds;
mod targets;
#[path = "../wire/topic_ids.rs"]
mod topic_ids;
#[allow(dead_code, reason = "responses are not decoded here")]
#[path = "../wire/txn_markers.rs"]
mod txn_markers;
#[allow(dead_code, reason = "responses are not decoded here")]
#[path = "../wire/txn_offsets.rs"]
mod txn_offsets;

use harness::{Target, fuzz};

macro_rules! targets {
    ($($name:ident: $seeds:expr, $run:expr;)*) => {
        $(#[test]
        fn $name() {
            fuzz(&Target { name: stringify!($name), seeds: $seeds, run: $run });
        })*
    };
}

targets! {
    produced_batch: seeds::batches(), targets::produced_batch;
    produced_batch_to_be_rewritten: seeds::batches(), targets::produced_batch_to_be_rewritten;
    stored_batches: seeds::logs(), targets::stored_batches;
    records: seeds::records(), targets::records;
    gzip: seeds::compressed(1), targets::gzip;
    snappy: seeds::compressed(2), targets::snappy;
    lz4: seeds::compressed(3), targets::lz4;
    zstd: seeds::compressed(4), targets::zstd;
    legacy_messages: seeds::legacy(), targets::legacy_messages;
    offset_index: seeds::golden(".index"), targets::offset_index;
    time_index: seeds::golden(".timeindex"), targets::time_index;
    aborted_index: seeds::golden(".txnindex"), targets::aborted_index;
    producer_snapshot: seeds::golden(".snapshot"), targets::producer_snapshot;
    leader_epochs: seeds::golden("leader-epoch-checkpoint"), targets::leader_epochs;
    partition_metadata: seeds::golden("partition.metadata"), targets::partition_metadata;
    offset_checkpoint: seeds::golden("offset-checkpoint"), targets::offset_checkpoint;
    meta_properties: seeds::golden("meta.properties"), targets::meta_properties;
    clean_shutdown: seeds::golden("kafka_cleanshutdown"), targets::clean_shutdown;
    group_record: seeds::group_records(), targets::group_record;
    transaction_record: seeds::transaction_records(), targets::transaction_record;
    metadata_record: seeds::metadata_records(), targets::metadata_record;
    properties_file: seeds::properties_files(), targets::properties_file;
    settings: seeds::properties_files(), targets::settings;
    metadata_control_record: seeds::metadata_control_records(), targets::metadata_control_record;
    metadata_snapshot: seeds::metadata_snapshots(), targets::metadata_snapshot;
    quorum_state: seeds::golden("quorum-state"), targets::quorum_state;
    frame_reader: seeds::streams(), frames::frame_reader;
    request_body: seeds::requests(), targets::request_body;
    produce_body: seeds::requests_of(0), targets::produce_body;
}
