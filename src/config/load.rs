//! From what people wrote to the settings in force: flags before environment before properties file before defaults.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use super::broker_settings::{BrokerSettings, Conflict};
use super::environment::setting_of_variable;
use super::layers::{Layers, Origin, StaticValue, StaticValues};
use super::properties;
use super::setting::{Kind, Setting, Status};
use super::table;
use super::value::Value;

/// What people wrote.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    /// Keys and values from the command line, the last one of a key wins.
    pub flags: Vec<(String, String)>,
    /// The environment.
    pub variables: Vec<(String, String)>,
    /// The properties file. Without one Highwater's own start values take the place of some of Kafka's defaults.
    pub file: Option<PropertiesFile>,
    /// What clients are told where a listener is on all addresses and not advertised; `localhost` if empty.
    pub host_name: String,
}

/// A properties file as read.
#[derive(Clone, Debug)]
pub struct PropertiesFile {
    /// Its name, for messages.
    pub path: PathBuf,
    /// Its content.
    pub bytes: Vec<u8>,
}

/// Settings in force, and what there is to say about them.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The settings.
    pub settings: BrokerSettings,
    /// To be logged once.
    pub notes: Vec<Note>,
}

/// Something that was given and does not do what its author may expect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// No such setting.
    Unknown {
        /// The key.
        key: String,
        /// Who gave it.
        origin: Origin,
        /// A setting that may be meant.
        similar: Option<&'static str>,
    },
    /// Given twice in the file; the last one counts.
    Twice {
        /// The key.
        key: String,
        /// The line that counts.
        origin: Origin,
    },
    /// What these control is not built yet.
    Later(Vec<String>),
    /// What these control does not exist here.
    NotHere(Vec<String>),
}

impl Note {
    /// True if somebody probably made a mistake.
    pub fn is_warning(&self) -> bool {
        match self {
            Self::Unknown { .. } | Self::Twice { .. } => true,
            Self::Later(_) | Self::NotHere(_) => false,
        }
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown { key, origin, similar: Some(similar) } => {
                write!(f, "{origin}: there is no setting {key}; did you mean {similar}?")
            }
            Self::Unknown { key, origin, similar: None } => {
                write!(f, "{origin}: there is no setting {key}")
            }
            Self::Twice { key, origin } => {
                write!(f, "{origin}: {key} is given again; this value counts")
            }
            Self::Later(keys) => {
                write!(f, "known, but what they control is not built yet: {}", keys.join(", "))
            }
            Self::NotHere(keys) => {
                write!(f, "accepted, but without meaning in Highwater: {}", keys.join(", "))
            }
        }
    }
}

/// Why the broker does not start: all that is wrong, at once.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", .problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
pub struct LoadError {
    /// In the order of the sources.
    pub problems: Vec<Problem>,
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Where; `None` for a default.
    pub origin: Option<Origin>,
    /// The setting.
    pub key: String,
    /// What is wrong.
    pub reason: String,
    /// Values that are accepted; empty if `reason` says it.
    pub accepted: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(origin) = &self.origin {
            write!(f, "{origin}: ")?;
        }
        write!(f, "{}: {}", self.key, self.reason)?;
        if self.accepted.is_empty() {
            return Ok(());
        }
        write!(f, " (accepted: {})", self.accepted)
    }
}

/// Takes the sources together.
pub fn load(sources: Sources) -> Result<Loaded, LoadError> {
    let mut gathering = Gathering::default();
    match &sources.file {
        Some(file) => gathering.file(file),
        None => gathering.own_start(),
    }
    gathering.variables(&sources.variables);
    gathering.flags(&sources.flags);
    gathering.finish(&sources.host_name)
}

/// Values and findings while the sources are read, the weakest source first.
#[derive(Default)]
struct Gathering {
    values: StaticValues,
    problems: Vec<Problem>,
    notes: Vec<Note>,
    later: Vec<String>,
    not_here: Vec<String>,
}

/// What takes the place of Kafka's default when there is no properties file.
const OWN_START: &[(&str, &str)] = &[
    ("group.initial.rebalance.delay.ms", "0"),
    ("listeners", "PLAINTEXT://127.0.0.1:9092"),
    ("log.dirs", "./highwater-data"),
    ("offsets.topic.replication.factor", "1"),
    ("share.coordinator.state.topic.min.isr", "1"),
    ("share.coordinator.state.topic.replication.factor", "1"),
    ("transaction.state.log.min.isr", "1"),
    ("transaction.state.log.replication.factor", "1"),
];

impl Gathering {
    fn own_start(&mut self) {
        for (key, text) in OWN_START {
            self.set(key, text, Origin::OwnStart);
        }
    }

    fn file(&mut self, file: &PropertiesFile) {
        let origin = |line| Origin::File { path: file.path.clone(), line };
        let entries = match properties::parse(&file.bytes) {
            Ok(entries) => entries,
            Err(e) => {
                let reason =
                    "malformed \\uXXXX escape; a backslash in a value is written \\\\".to_owned();
                return self.problem(Some(origin(e.line)), "properties", reason, String::new());
            }
        };
        let mut lines: BTreeMap<&str, usize> = BTreeMap::new();
        for entry in &entries {
            if lines.insert(&entry.key, entry.line).is_some() {
                self.notes.push(Note::Twice { key: entry.key.clone(), origin: origin(entry.line) });
            }
        }
        for entry in entries.iter().filter(|entry| lines[entry.key.as_str()] == entry.line) {
            self.give(&entry.key, &entry.value, origin(entry.line));
        }
    }

    fn variables(&mut self, variables: &[(String, String)]) {
        for (name, text) in variables {
            if let Some(key) = setting_of_variable(name) {
                self.give(&key, text, Origin::Variable(name.clone()));
            }
        }
    }

    fn flags(&mut self, flags: &[(String, String)]) {
        for (key, text) in flags {
            if table::broker(key).is_none() {
                let hint =
                    similar(key).map(|name| format!("; did you mean {name}?")).unwrap_or_default();
                self.problem(
                    Some(Origin::Flag),
                    key,
                    format!("there is no such setting{hint}"),
                    String::new(),
                );
            } else {
                self.give(key, text, Origin::Flag);
            }
        }
    }

    /// Takes a value from people: sets it and notes what they should know.
    fn give(&mut self, key: &str, text: &str, origin: Origin) {
        let Some(setting) = table::broker(key) else {
            return self.unknown(key, origin);
        };
        match setting.status {
            Status::Acts => {}
            Status::Later => self.later.push(key.to_owned()),
            Status::NotHere => self.not_here.push(key.to_owned()),
        }
        self.set(key, text, origin);
    }

    fn set(&mut self, key: &str, text: &str, origin: Origin) {
        let setting = table::broker(key).expect("the caller looked it up");
        match setting.parse(text) {
            Ok(value) => {
                self.values.0.insert(setting.name, StaticValue { value, origin });
            }
            Err(e) => self.problem(Some(origin), key, e.to_string(), accepted(setting)),
        }
    }

    fn unknown(&mut self, key: &str, origin: Origin) {
        // Settings of single listeners and of plug-ins are Kafka's, but have no row of their own.
        if ["listener.name.", "rsm.config.", "rlmm.config."]
            .iter()
            .any(|prefix| key.starts_with(prefix))
        {
            return self.not_here.push(key.to_owned());
        }
        self.notes.push(Note::Unknown { key: key.to_owned(), origin, similar: similar(key) });
    }

    fn problem(&mut self, origin: Option<Origin>, key: &str, reason: String, accepted: String) {
        self.problems.push(Problem { origin, key: key.to_owned(), reason, accepted });
    }

    fn finish(mut self, host_name: &str) -> Result<Loaded, LoadError> {
        for (keys, note) in
            [(&mut self.later, Note::Later as fn(_) -> _), (&mut self.not_here, Note::NotHere)]
        {
            keys.sort();
            keys.dedup();
            if !keys.is_empty() {
                self.notes.push(note(std::mem::take(keys)));
            }
        }
        let host_name = if host_name.is_empty() { "localhost" } else { host_name };
        let resolved = BrokerSettings::resolve(Layers::of_statics(&self.values), host_name);
        match resolved {
            Ok(settings) if self.problems.is_empty() => Ok(Loaded { settings, notes: self.notes }),
            Ok(_) => Err(LoadError { problems: self.problems }),
            Err(conflict) => {
                self.conflict(conflict);
                Err(LoadError { problems: self.problems })
            }
        }
    }

    /// A conflict that follows from a value already refused is not worth a line of its own.
    fn conflict(&mut self, Conflict { key, reason }: Conflict) {
        if self.problems.iter().any(|problem| problem.key == key) {
            return;
        }
        let origin = self.values.get(key).map(|given| given.origin.clone());
        self.problem(origin, key, reason, String::new());
    }
}

/// Type and bounds of a setting, for people.
pub fn accepted(setting: &Setting) -> String {
    let bounds = setting.valid.to_string();
    let kind = match setting.kind {
        Kind::Boolean => "true or false",
        Kind::Short | Kind::Int | Kind::Long => "an integer",
        Kind::Double => "a number",
        Kind::List => "a comma-separated list",
        Kind::String | Kind::Class | Kind::Password => "a text",
        Kind::Bytes => "bytes, with or without a unit such as KiB, MiB, GiB",
        Kind::Millis => "a time with a unit such as ms, s, m, h, d; without one in milliseconds",
    };
    match (setting.kind, bounds.is_empty()) {
        (_, true) => kind.to_owned(),
        (Kind::String, false) => bounds,
        (_, false) => format!("{kind}, {bounds}"),
    }
}

/// Edits between a misspelt key and the one that is meant.
const EDITS_MAX: usize = 2;

/// The setting that a misspelt key is closest to, if one is close: at most two edits away, or the broker's name of a topic
/// setting.
pub fn similar(key: &str) -> Option<&'static str> {
    if let Some(synonym) = table::topic(key).and_then(|row| row.synonyms().first()) {
        return Some(synonym);
    }
    // A distance is at least the difference in length, which is cheap to see.
    let near = |row: &&Setting| row.name.len().abs_diff(key.len()) <= EDITS_MAX;
    let distances =
        table::broker_settings().filter(near).map(|row| (edits(key, row.name), row.name));
    distances.filter(|(distance, _)| *distance <= EDITS_MAX).min().map(|(_, name)| name)
}

/// Levenshtein distance.
fn edits(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, &cb) in b.iter().enumerate() {
            let substituted = diagonal + usize::from(ca != cb);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

/// The text of a value that is not secret.
pub(super) fn shown(setting: &Setting, value: &Value) -> Option<String> {
    if setting.is_sensitive() { None } else { Some(value.to_string()) }
}
