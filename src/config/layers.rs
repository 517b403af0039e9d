//! Where values come from: what the broker was started with, what was changed while it runs, and the defaults.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use super::setting::{Kind, Setting};
use super::table;
use super::value::Value;

/// Who gave a value at start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The command line.
    Flag,
    /// An environment variable.
    Variable(String),
    /// A line of the properties file.
    File {
        /// The file.
        path: PathBuf,
        /// From 1.
        line: usize,
    },
    /// Nobody: started without a properties file, Highwater takes this instead of Kafka's default.
    OwnStart,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag => f.write_str("command line"),
            Self::Variable(name) => write!(f, "environment variable {name}"),
            Self::File { path, line } => write!(f, "{} line {line}", path.display()),
            Self::OwnStart => f.write_str("default without a properties file"),
        }
    }
}

/// A value given at start.
#[derive(Clone, Debug, PartialEq)]
pub struct StaticValue {
    /// Checked.
    pub value: Value,
    /// Who gave it.
    pub origin: Origin,
}

/// What the broker was started with; only settings of the table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StaticValues(pub(super) BTreeMap<&'static str, StaticValue>);

impl StaticValues {
    /// What was given for a setting.
    pub fn get(&self, name: &str) -> Option<&StaticValue> {
        self.0.get(name)
    }
}

/// Broker overrides made while it runs: the content of the `ConfigRecord`s of type 4.
pub type Overrides = BTreeMap<String, String>;

/// All layers of broker settings, the upper ones first: this broker's overrides, those of all brokers, the values given at
/// start, the defaults. Cheap to copy.
#[derive(Clone, Copy, Debug)]
pub struct Layers<'a> {
    /// Overrides of this broker.
    pub broker: &'a Overrides,
    /// Overrides of all brokers.
    pub cluster: &'a Overrides,
    /// Given at start.
    pub statics: &'a StaticValues,
}

static NO_OVERRIDES: Overrides = Overrides::new();

/// `config_source` of DescribeConfigs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// Set on the topic.
    Topic,
    /// Set on this broker while it runs.
    DynamicBroker,
    /// Set for all brokers while they run.
    DynamicDefault,
    /// Given at start.
    StaticBroker,
    /// The default.
    Default,
    /// Set on the group.
    Group,
}

impl Source {
    /// The number on the wire.
    pub fn wire_code(self) -> i8 {
        match self {
            Self::Topic => 1,
            Self::DynamicBroker => 2,
            Self::DynamicDefault => 3,
            Self::StaticBroker => 4,
            Self::Default => 5,
            Self::Group => 8,
        }
    }
}

impl<'a> Layers<'a> {
    /// What the broker was started with, and nothing else.
    pub fn of_statics(statics: &'a StaticValues) -> Self {
        Self { broker: &NO_OVERRIDES, cluster: &NO_OVERRIDES, statics }
    }

    /// The value in force of a broker setting; `None` where Kafka has null.
    pub fn value(self, setting: &Setting) -> Option<Value> {
        self.all(setting).into_iter().next().map(|(value, _)| value)
    }

    /// Every value that a broker setting has, the one in force first. Overrides that do not parse (written by a version
    /// that knew better) are passed over.
    pub fn all(self, setting: &Setting) -> Vec<(Value, Source)> {
        let dynamic = |overrides: &Overrides| {
            overrides.get(setting.name).and_then(|text| setting.parse(text).ok())
        };
        let given = self.statics.get(setting.name).map(|given| given.value.clone());
        let candidates = [
            (dynamic(self.broker), Source::DynamicBroker),
            (dynamic(self.cluster), Source::DynamicDefault),
            (given, Source::StaticBroker),
            (setting.default_value(), Source::Default),
        ];
        candidates.into_iter().filter_map(|(value, source)| Some((value?, source))).collect()
    }

    /// The value that a topic without an override gets: that of the first broker synonym that has one, else the default.
    pub fn topic_fallback(self, setting: &Setting) -> Option<Value> {
        let of_broker = setting.synonyms().iter().find_map(|name| {
            let synonym = table::broker(name)?;
            Some(in_topic_unit(synonym, self.value(synonym)?))
        });
        of_broker.or_else(|| setting.default_value())
    }

    /// A broker setting that the table gives a type with numbers and a default.
    pub fn number(self, name: &str) -> i64 {
        match self.known(name) {
            Some(Value::Number(number)) => number,
            other => unreachable!("{name} is no number with a default: {other:?}"),
        }
    }

    /// A broker setting of type int or short with a default.
    pub fn int(self, name: &str) -> i32 {
        i32::try_from(self.number(name)).expect("the table gives it 32 bits")
    }

    /// A broker setting that is a count or a size, with a default; a negative one counts as zero.
    pub fn size(self, name: &str) -> usize {
        usize::try_from(self.number(name).max(0)).unwrap_or(usize::MAX)
    }

    /// A broker setting of type double with a default.
    pub(super) fn double(self, name: &str) -> f64 {
        match self.known(name) {
            Some(Value::Double(number)) => number,
            other => unreachable!("{name} is no float with a default: {other:?}"),
        }
    }

    /// A broker setting of type boolean with a default.
    pub(super) fn flag(self, name: &str) -> bool {
        match self.known(name) {
            Some(Value::Boolean(flag)) => flag,
            other => unreachable!("{name} is no boolean with a default: {other:?}"),
        }
    }

    /// A broker setting of a text type; empty counts as null.
    pub fn text(self, name: &str) -> Option<String> {
        match self.known(name) {
            Some(Value::Text(text)) if !text.is_empty() => Some(text),
            None | Some(Value::Text(_)) => None,
            other => unreachable!("{name} is no text: {other:?}"),
        }
    }

    /// A broker setting of type list; null is the empty list.
    pub fn list(self, name: &str) -> Vec<String> {
        match self.known(name) {
            Some(Value::List(list)) => list,
            None => Vec::new(),
            other => unreachable!("{name} is no list: {other:?}"),
        }
    }

    fn known(self, name: &str) -> Option<Value> {
        self.value(table::broker(name).expect("settings read by the broker are rows of the table"))
    }
}

/// Hours and minutes become milliseconds; a negative retention time means "without limit".
fn in_topic_unit(synonym: &Setting, value: Value) -> Value {
    let Value::Number(number) = value else { return value };
    let factor = match synonym.name.rsplit('.').next() {
        Some("hours") => 3_600_000,
        Some("minutes") => 60_000,
        _ => 1,
    };
    debug_assert!(
        factor == 1 || synonym.kind == Kind::Int,
        "hours and minutes are 32-bit, so their milliseconds fit"
    );
    let scaled = number.saturating_mul(factor);
    let unlimited =
        synonym.name.starts_with("log.retention.") && synonym.name != "log.retention.bytes";
    Value::Number(if unlimited && scaled < 0 { -1 } else { scaled })
}
