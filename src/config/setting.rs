//! What is known about one setting: a row of the table.

use super::valid::Valid;

/// One setting of a broker or of a topic.
#[derive(Debug, PartialEq)]
pub struct Setting {
    /// Kafka's key, or ours under `highwater.`.
    pub name: &'static str,
    /// Type of the value.
    pub kind: Kind,
    /// Value unless set, as text; `None` where Kafka has null.
    pub default: Option<&'static str>,
    /// Accepted values.
    pub valid: Valid,
    /// Kafka's own rating.
    pub importance: Importance,
    /// Where it can be set.
    pub scope: Scope,
    /// Whether it changes anything here.
    pub status: Status,
    /// One or two sentences, without markup.
    pub doc: &'static str,
}

/// Type of a value (Kafka's `ConfigDef.Type`, and two for our own settings).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `true` or `false`.
    Boolean,
    /// Text.
    String,
    /// 32-bit integer.
    Int,
    /// 16-bit integer.
    Short,
    /// 64-bit integer.
    Long,
    /// 64-bit float.
    Double,
    /// Texts separated by commas.
    List,
    /// Name of a Java class.
    Class,
    /// Text that is never shown.
    Password,
    /// Bytes, optionally with a suffix such as `MiB` (`highwater.` only); a `Long` for clients.
    Bytes,
    /// Milliseconds, optionally with a suffix such as `s` (`highwater.` only); a `Long` for clients.
    Millis,
}

/// How much a setting matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Importance {
    High,
    Medium,
    Low,
}

/// Where a setting can be set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// On the broker.
    Broker(Update),
    /// On a topic; without an override the first broker setting named here that has a value decides.
    Topic {
        /// In the order in which they are asked.
        synonyms: &'static [&'static str],
    },
    /// On a group; without an override the broker setting named here decides.
    Group {
        /// One or none.
        synonyms: &'static [&'static str],
    },
}

/// Whether a broker setting can change while the broker runs (Kafka's `DynamicBrokerConfig`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Update {
    /// Only by a restart.
    ReadOnly,
    /// On one broker.
    PerBroker,
    /// On one broker or as the default of all.
    ClusterWide,
}

/// What a setting does here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It acts as in Kafka.
    Acts,
    /// It is checked and shown; what it controls is not built yet.
    Later,
    /// It is accepted; what it controls does not exist in this design.
    NotHere,
}

impl Setting {
    /// True for a setting that Kafka does not have.
    pub fn is_own(&self) -> bool {
        self.name.starts_with("highwater.")
    }

    /// True for a secret: its value is never shown.
    pub fn is_sensitive(&self) -> bool {
        self.kind == Kind::Password
    }

    /// True if only a restart changes it.
    pub fn is_read_only(&self) -> bool {
        self.scope == Scope::Broker(Update::ReadOnly)
    }

    /// Broker settings that one of a topic or group falls back on; empty for a broker setting.
    pub fn synonyms(&self) -> &'static [&'static str] {
        match self.scope {
            Scope::Broker(_) => &[],
            Scope::Topic { synonyms } | Scope::Group { synonyms } => synonyms,
        }
    }
}

impl Kind {
    /// Kafka's name of the type, as its error messages print it.
    pub fn kafka_name(self) -> &'static str {
        match self {
            Self::Boolean => "BOOLEAN",
            Self::String => "STRING",
            Self::Int => "INT",
            Self::Short => "SHORT",
            Self::Long | Self::Bytes | Self::Millis => "LONG",
            Self::Double => "DOUBLE",
            Self::List => "LIST",
            Self::Class => "CLASS",
            Self::Password => "PASSWORD",
        }
    }

    /// `config_type` of DescribeConfigs v3.
    pub fn wire_code(self) -> i8 {
        match self {
            Self::Boolean => 1,
            Self::String => 2,
            Self::Int => 3,
            Self::Short => 4,
            Self::Long | Self::Bytes | Self::Millis => 5,
            Self::Double => 6,
            Self::List => 7,
            Self::Class => 8,
            Self::Password => 9,
        }
    }
}

/// Rows of broker settings:
/// `"name": Kind = default, accepted values, Importance, update, status => "doc";`
macro_rules! settings {
    ($($name:literal: $kind:ident = $default:tt, $valid:expr, $importance:ident, $update:ident, $status:ident => $doc:expr;)*) => {
        &[$(Setting {
            name: $name,
            kind: crate::config::setting::Kind::$kind,
            default: crate::config::setting::default!($default),
            valid: $valid,
            importance: crate::config::setting::Importance::$importance,
            scope: crate::config::setting::Scope::Broker(crate::config::setting::update!($update)),
            status: crate::config::setting::status!($status),
            doc: $doc,
        }),*]
    };
}

/// Rows of topic settings:
/// `"name": Kind = default, accepted values, Importance, [broker synonyms], status => "doc";`
macro_rules! topic_settings {
    ($($name:literal: $kind:ident = $default:tt, $valid:expr, $importance:ident, [$($synonym:literal),*], $status:ident => $doc:expr;)*) => {
        &[$(Setting {
            name: $name,
            kind: crate::config::setting::Kind::$kind,
            default: crate::config::setting::default!($default),
            valid: $valid,
            importance: crate::config::setting::Importance::$importance,
            scope: crate::config::setting::Scope::Topic { synonyms: &[$($synonym),*] },
            status: crate::config::setting::status!($status),
            doc: $doc,
        }),*]
    };
}

/// Rows of group settings: as those of topics.
macro_rules! group_settings {
    ($($name:literal: $kind:ident = $default:tt, $valid:expr, $importance:ident, [$($synonym:literal)?], $status:ident => $doc:expr;)*) => {
        &[$(Setting {
            name: $name,
            kind: crate::config::setting::Kind::$kind,
            default: crate::config::setting::default!($default),
            valid: $valid,
            importance: crate::config::setting::Importance::$importance,
            scope: crate::config::setting::Scope::Group { synonyms: &[$($synonym)?] },
            status: crate::config::setting::status!($status),
            doc: $doc,
        }),*]
    };
}

macro_rules! default {
    (null) => {
        None
    };
    ($text:literal) => {
        Some($text)
    };
}

#[rustfmt::skip]
macro_rules! update {
    (read_only) => { crate::config::setting::Update::ReadOnly };
    (per_broker) => { crate::config::setting::Update::PerBroker };
    (cluster_wide) => { crate::config::setting::Update::ClusterWide };
}

#[rustfmt::skip]
macro_rules! status {
    (acts) => { crate::config::setting::Status::Acts };
    (later) => { crate::config::setting::Status::Later };
    (not_here) => { crate::config::setting::Status::NotHere };
}

pub(super) use {default, group_settings, settings, status, topic_settings, update};
