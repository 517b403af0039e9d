//! What a check has found, as text and as JSON.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::PathBuf;

use serde_json::{Value, json};

use super::trial::Opened;
use super::written_by::release;
use crate::cli::table::Table;
use crate::metadata::METADATA_VERSION;
use crate::types::{BrokerId, DirectoryId};

/// Everything.
#[derive(Debug, Default)]
pub(super) struct Report {
    /// `None` if it could not be read.
    pub(super) metadata: Option<Metadata>,
    pub(super) directories: Vec<DirectoryFound>,
    pub(super) opened: Opened,
    pub(super) groups: Vec<GroupFound>,
    /// Those that are open or on their way to an end.
    pub(super) transactions: Vec<TransactionFound>,
    /// Why a start would refuse all of it.
    pub(super) refusals: Vec<String>,
    /// What else would not be served.
    pub(super) failures: Vec<String>,
    /// Records that are not there any more, whoever starts.
    pub(super) losses: Vec<String>,
    /// What a start would do about damage.
    pub(super) repairs: Vec<String>,
    /// Index files that every start after a kill makes anew.
    pub(super) rebuilt: usize,
}

#[derive(Debug)]
pub(super) struct Metadata {
    pub(super) cluster_id: String,
    pub(super) node_id: BrokerId,
    pub(super) written_by: String,
    pub(super) features: BTreeMap<String, i16>,
    pub(super) topics: usize,
    /// There is state of share groups.
    pub(super) share_groups: bool,
    pub(super) acls: usize,
    pub(super) scram_credentials: usize,
    pub(super) quotas: usize,
    pub(super) tokens: usize,
}

#[derive(Debug)]
pub(super) struct DirectoryFound {
    pub(super) path: PathBuf,
    pub(super) id: Option<DirectoryId>,
    /// `clean`, `unclean` or `empty`.
    pub(super) stop: &'static str,
    pub(super) partitions: usize,
}

#[derive(Debug)]
pub(super) struct GroupFound {
    pub(super) name: String,
    pub(super) group_type: &'static str,
    pub(super) state: &'static str,
    pub(super) members: usize,
    /// Partitions with a committed offset.
    pub(super) offsets: usize,
}

#[derive(Debug)]
pub(super) struct TransactionFound {
    pub(super) id: String,
    pub(super) state: String,
}

impl Report {
    /// Nothing more is known of a directory that is refused.
    pub(super) fn refused(refusals: Vec<String>) -> Self {
        Self { refusals, ..Self::default() }
    }

    pub(super) fn opened(&mut self, mut opened: Opened) {
        self.failures.append(&mut opened.failures);
        self.losses.append(&mut opened.losses);
        self.opened = opened;
    }

    /// The error says that something is not served.
    pub(super) fn verdict(&self) -> Result<(), String> {
        if !self.refusals.is_empty() {
            return Err("a start would refuse this, and change nothing".to_owned());
        }
        match self.failures.len() {
            0 => Ok(()),
            1 => Err("a start would serve everything but one thing".to_owned()),
            many => Err(format!("a start would serve everything but {many} things")),
        }
    }

    pub(super) fn write_json(&self, out: &mut dyn Write) -> io::Result<()> {
        let metadata = self.metadata.as_ref().map(|found| {
            json!({
                "clusterId": found.cluster_id, "nodeId": found.node_id.get(), "writtenBy": found.written_by,
                "features": found.features, "topics": found.topics, "shareGroups": found.share_groups, "acls": found.acls,
                "scramCredentials": found.scram_credentials, "quotas": found.quotas,
                "delegationTokens": found.tokens,
            })
        });
        let directory = |found: &DirectoryFound| {
            json!({
                "path": found.path, "directoryId": found.id.map(|id| id.to_string()), "stop": found.stop,
                "partitions": found.partitions,
            })
        };
        let group = |group: &GroupFound| {
            json!({
                "name": group.name, "type": group.group_type, "state": group.state,
                "members": group.members, "offsets": group.offsets,
            })
        };
        let transaction = |open: &TransactionFound| json!({ "id": open.id, "state": open.state });
        let all: Value = json!({
            "served": self.verdict().is_ok(),
            "metadata": metadata,
            "directories": self.directories.iter().map(directory).collect::<Vec<_>>(),
            "partitions": self.opened.partitions,
            "offsets": self.opened.offsets,
            "bytes": self.opened.bytes,
            "groups": self.groups.iter().map(group).collect::<Vec<_>>(),
            "openTransactions": self.transactions.iter().map(transaction).collect::<Vec<_>>(),
            "refusals": self.refusals,
            "notServed": self.failures,
            "losses": self.losses,
            "repairs": self.repairs,
            "indexesRebuilt": self.rebuilt,
        });
        writeln!(out, "{all:#}")
    }

    pub(super) fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        self.write_directories(out)?;
        self.write_content(out)?;
        write_list(out, "Lost already, whoever starts", &self.losses)?;
        write_list(out, "A start would repair", &self.repairs)?;
        write_list(out, "It would not serve", &self.failures)?;
        write_list(out, "It cannot be served", &self.refusals)?;
        if self.verdict().is_ok() {
            writeln!(out, "\nA start would serve all of this. Nothing was changed.")?;
        }
        Ok(())
    }

    fn write_directories(&self, out: &mut dyn Write) -> io::Result<()> {
        let Some(found) = &self.metadata else { return Ok(()) };
        writeln!(
            out,
            "node {} of the cluster {}, last run by {}",
            found.node_id, found.cluster_id, found.written_by
        )?;
        let level = found.features.get(METADATA_VERSION).copied().unwrap_or(0);
        let features: Vec<String> =
            found.features.iter().map(|(name, level)| format!("{name}={level}")).collect();
        writeln!(
            out,
            "at the feature levels of Kafka {}, which stay: {}",
            release(level),
            features.join(" ")
        )?;
        for directory in &self.directories {
            let stop = match directory.stop {
                "clean" => "stopped cleanly",
                "metadata only" => "holds the metadata and no log",
                "unclean" => "not stopped cleanly: the ends of its logs will be recovered",
                _ => "empty: will be formatted",
            };
            let id = directory.id.map_or("none".to_owned(), |id| id.to_string());
            writeln!(
                out,
                "{}: id {id}, {} partitions, {stop}",
                directory.path.display(),
                directory.partitions
            )?;
        }
        Ok(())
    }

    fn write_content(&self, out: &mut dyn Write) -> io::Result<()> {
        let Some(found) = &self.metadata else { return Ok(()) };
        let Opened { partitions, offsets, bytes, .. } = self.opened;
        writeln!(
            out,
            "\n{} topics with {partitions} partitions, {offsets} offsets in {bytes} bytes",
            found.topics
        )?;
        let kept = [
            (found.acls, "ACLs"),
            (found.scram_credentials, "SCRAM credentials"),
            (found.quotas, "quotas"),
            (found.tokens, "delegation tokens"),
        ];
        let kept: Vec<String> = kept
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, what)| format!("{count} {what}"))
            .collect();
        if !kept.is_empty() {
            writeln!(
                out,
                "{}: kept for a Kafka that comes back, not acted on here",
                kept.join(", ")
            )?;
        }
        if found.share_groups {
            writeln!(
                out,
                "share groups: their state is kept for a Kafka that comes back, not served here"
            )?;
        }
        if self.rebuilt > 0 {
            writeln!(out, "{} index files will be made anew, as after every kill", self.rebuilt)?;
        }
        self.write_groups(out)?;
        let open: Vec<String> =
            self.transactions.iter().map(|open| format!("{} ({})", open.id, open.state)).collect();
        write_list(out, "Transactions that have not ended", &open)
    }

    fn write_groups(&self, out: &mut dyn Write) -> io::Result<()> {
        if self.groups.is_empty() {
            return Ok(());
        }
        let mut table = Table::new(["group", "type", "state", "members", "offsets"]);
        for group in &self.groups {
            table.push([
                group.name.clone(),
                group.group_type.to_owned(),
                group.state.to_owned(),
                group.members.to_string(),
                group.offsets.to_string(),
            ]);
        }
        writeln!(out)?;
        table.write(out)
    }
}

fn write_list(out: &mut dyn Write, heading: &str, items: &[String]) -> io::Result<()> {
    if items.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{heading}:")?;
    items.iter().try_for_each(|item| writeln!(out, "  {item}"))
}
