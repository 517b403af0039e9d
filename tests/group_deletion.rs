//! What was deleted of groups stays deleted when the broker is killed with -9 right after it said so.

#![allow(clippy::disallowed_methods, reason = "spawns processes")]

use std::path::Path;
use std::process::{Command, Output};

use rdkafka::consumer::{CommitMode, Consumer};
use rdkafka::{Offset, TopicPartitionList};

#[path = "support/data_directories.rs"]
#[allow(dead_code, reason = "each test uses a part of it")]
mod data_directories;
#[path = "support/processes.rs"]
mod processes;
#[path = "support/strict_check.rs"]
#[allow(dead_code, reason = "each test uses a part of it")]
mod strict_check;

use data_directories::DataDirectories;
use processes::{BrokerProcess, PATIENCE, committed_offset, create_topic, free_port, group_client};

const TOPICS: [&str; 2] = ["orders", "returns"];

/// A broker that is killed and comes back with its directory.
struct Machine {
    address: String,
    /// Goes before the directories, which are then looked at.
    broker: BrokerProcess,
    data: DataDirectories,
}

impl Machine {
    /// With two topics, and groups that have an offset in each.
    fn with_groups(first_port: u16, groups: &[&str]) -> Self {
        let data = DataDirectories::one();
        let address = format!("127.0.0.1:{}", free_port(first_port));
        let broker = start(data.path(), &address);
        TOPICS.iter().for_each(|topic| create_topic(&address, topic, 1));
        groups.iter().for_each(|group| commit(&address, group, 5));
        Self { data, address, broker }
    }

    fn kill_and_restart(&mut self) {
        self.broker.kill();
        self.broker = start(self.data.path(), &self.address);
        // Commands do not wait for a broker; this client does.
        group_client(&self.address, "nobody").fetch_metadata(None, PATIENCE).expect("it is back");
    }

    /// The product's own command.
    fn highwater(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_highwater"));
        command.args(arguments).env("HIGHWATER_BROKER", &self.address);
        command.output().expect("the command runs")
    }

    fn succeeds(&self, arguments: &[&str]) -> String {
        let output = self.highwater(arguments);
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        String::from_utf8(output.stdout).expect("text")
    }

    /// Names of groups that exist.
    fn groups(&self) -> Vec<String> {
        let listed = self.succeeds(&["group", "list"]);
        let names = listed.lines().skip(1).filter_map(|line| line.split_whitespace().next());
        names.map(str::to_owned).collect()
    }

    /// What a group has committed in each topic.
    fn committed(&self, group: &str) -> [Option<i64>; 2] {
        let client = group_client(&self.address, group);
        TOPICS.map(|topic| committed_offset(&client, topic))
    }
}

fn start(data: &Path, address: &str) -> BrokerProcess {
    BrokerProcess::start(data, address, &[])
}

fn commit(address: &str, group: &str, offset: i64) {
    let mut offsets = TopicPartitionList::new();
    for topic in TOPICS {
        offsets.add_partition_offset(topic, 0, Offset::Offset(offset)).expect("an offset");
    }
    group_client(address, group).commit(&offsets, CommitMode::Sync).expect("it is acknowledged");
}

#[test]
fn a_deleted_group_does_not_come_back() {
    let mut machine = Machine::with_groups(22_000, &["a", "b", "c", "d", "e"]);
    machine.succeeds(&["group", "delete", "a", "b", "c"]);
    assert!(!machine.highwater(&["group", "delete", "b"]).status.success(), "it is gone");
    for _ in 0..2 {
        assert_eq!(machine.groups(), ["d", "e"]);
        assert_eq!(machine.committed("a"), [None, None]);
        assert_eq!(machine.committed("d"), [Some(5), Some(5)]);
        machine.kill_and_restart();
    }
    // The name is free: what it commits now is its own.
    commit(&machine.address, "a", 1);
    machine.kill_and_restart();
    assert_eq!(machine.committed("a"), [Some(1), Some(1)]);
    assert_eq!(machine.groups(), ["a", "d", "e"]);
}

#[test]
fn deleted_offsets_do_not_come_back() {
    let mut machine = Machine::with_groups(22_400, &["g"]);
    machine.succeeds(&["group", "delete-offsets", "g", "--topic", "returns"]);
    for _ in 0..2 {
        assert_eq!(machine.committed("g"), [Some(5), None]);
        machine.kill_and_restart();
    }
}

#[test]
fn a_topic_that_is_made_anew_does_not_get_the_offsets_of_the_old_one() {
    let mut machine = Machine::with_groups(22_800, &["g"]);
    machine.succeeds(&["topic", "delete", "returns"]);
    machine.kill_and_restart();
    create_topic(&machine.address, "returns", 1);
    for _ in 0..2 {
        assert_eq!(machine.committed("g"), [Some(5), None], "the other topic's stay");
        machine.kill_and_restart();
    }
}
