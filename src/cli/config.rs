//! `highwater config`: settings, what they do and what is in force.

use std::io::{self, Write};

use clap::{Args, Subcommand};

use super::CommandError;
use super::arguments::{BrokerArguments, SourcesError};
use crate::config::{
    self, BrokerSettings, DescribedConfig, Overrides, Scope, Setting, Source, StaticValue, Update,
    accepted, describe_broker, status_text, table,
};
use crate::env::Disk;

/// What to show.
#[derive(Debug, Subcommand)]
pub enum ConfigCommand {
    /// List settings with the values in force and where these come from
    #[command(after_help = "\
Examples:
  highwater config list                               all settings
  highwater config list retention                     those with 'retention' in their name
  highwater config list --set-only -c server.properties   what a file sets")]
    List(ListArguments),
    /// Say what one setting does, what it accepts and what is in force
    #[command(after_help = "Example:\n  highwater config explain log.retention.hours")]
    Explain(ExplainArguments),
    /// Check a configuration without starting a broker
    #[command(after_help = "Example:\n  highwater config check -c server.properties")]
    Check(BrokerArguments),
}

/// What to list.
#[derive(Debug, Args)]
pub struct ListArguments {
    /// Only settings with this in their name
    pattern: Option<String>,
    /// Only settings that are set somewhere
    #[arg(long)]
    set_only: bool,
    /// Topic settings instead of broker settings
    #[arg(long)]
    topic: bool,
    #[command(flatten)]
    broker: BrokerArguments,
}

/// What to explain.
#[derive(Debug, Args)]
pub struct ExplainArguments {
    /// Name of a broker or topic setting
    key: String,
    #[command(flatten)]
    broker: BrokerArguments,
}

pub(super) fn run(command: ConfigCommand, out: &mut dyn Write) -> Result<(), CommandError> {
    match command {
        ConfigCommand::List(arguments) => list(&arguments, out),
        ConfigCommand::Explain(arguments) => explain(&arguments, out),
        ConfigCommand::Check(arguments) => check(&arguments, out),
    }
}

fn settings(arguments: &BrokerArguments) -> Result<BrokerSettings, CommandError> {
    Ok(arguments.load(&Disk).map_err(usage)?.settings)
}

fn usage(error: SourcesError) -> CommandError {
    CommandError::Usage(error.to_string())
}

fn list(arguments: &ListArguments, out: &mut dyn Write) -> Result<(), CommandError> {
    let settings = settings(&arguments.broker)?;
    let none = Overrides::new();
    let layers = settings.layers(&none, &none);
    let all = if arguments.topic {
        config::describe_topic(layers, &none)
    } else {
        describe_broker(layers)
    };
    let pattern = arguments.pattern.as_deref().unwrap_or_default();
    let rows: Vec<[String; 3]> = all
        .iter()
        .filter(|entry| entry.name.contains(pattern))
        .filter(|entry| !arguments.set_only || given(&settings, entry).is_some())
        .map(|entry| [entry.name.to_owned(), value(entry), origin(&settings, entry)])
        .collect();
    Ok(columns(out, &rows)?)
}

fn value(entry: &DescribedConfig) -> String {
    match &entry.value {
        Some(value) if value.is_empty() => "\"\"".to_owned(),
        Some(value) => value.clone(),
        None if entry.sensitive && entry.source != Source::Default => "(hidden)".to_owned(),
        None => "(not set)".to_owned(),
    }
}

/// What was given for a setting; for one of topics or groups, what was given for the broker setting behind it.
fn given<'a>(settings: &'a BrokerSettings, entry: &DescribedConfig) -> Option<&'a StaticValue> {
    let row = table::topic(entry.name).or_else(|| table::group(entry.name));
    let behind = row.map(Setting::synonyms).unwrap_or_default();
    let names = std::iter::once(&entry.name).chain(behind);
    names.copied().find_map(|name| settings.statics.get(name))
}

fn origin(settings: &BrokerSettings, entry: &DescribedConfig) -> String {
    given(settings, entry).map_or_else(|| "default".to_owned(), |given| given.origin.to_string())
}

/// Columns two spaces apart; a long value pushes only its own line.
fn columns(out: &mut dyn Write, rows: &[[String; 3]]) -> io::Result<()> {
    const VALUE_WIDTH_MAX: usize = 32;
    let width = |column: usize| rows.iter().map(|row| row[column].len()).max().unwrap_or(0);
    let (name_width, value_width) = (width(0), width(1).min(VALUE_WIDTH_MAX));
    for [name, value, origin] in rows {
        writeln!(out, "{name:name_width$}  {value:value_width$}  {origin}")?;
    }
    Ok(())
}

fn explain(arguments: &ExplainArguments, out: &mut dyn Write) -> Result<(), CommandError> {
    let key = arguments.key.as_str();
    let rows = [table::broker(key), table::topic(key), table::group(key)];
    if rows == [None, None, None] {
        let hint =
            config::similar(key).map(|name| format!("; did you mean {name}?")).unwrap_or_default();
        return Err(CommandError::Usage(format!("there is no setting {key}{hint}")));
    }
    let settings = settings(&arguments.broker)?;
    let none = Overrides::new();
    let layers = settings.layers(&none, &none);
    for (index, row) in rows.into_iter().flatten().enumerate() {
        let all = match row.scope {
            Scope::Broker(_) => describe_broker(layers),
            Scope::Topic { .. } => config::describe_topic(layers, &none),
            Scope::Group { .. } => config::describe_group(layers, &none),
        };
        if index > 0 {
            writeln!(out)?;
        }
        write_row(out, row)?;
        if let Some(entry) = all.iter().find(|entry| entry.name == row.name) {
            writeln!(out, "  in force  {} ({})", value(entry), origin(&settings, entry))?;
        }
    }
    Ok(())
}

fn write_row(out: &mut dyn Write, row: &Setting) -> io::Result<()> {
    writeln!(out, "{}", row.name)?;
    for line in wrapped(row.doc, 96) {
        writeln!(out, "  {line}")?;
    }
    writeln!(out)?;
    writeln!(out, "  accepts   {}", accepted(row))?;
    writeln!(
        out,
        "  default   {}",
        row.default.map_or("(not set)", |text| if text.is_empty() { "\"\"" } else { text })
    )?;
    writeln!(out, "  set on    {}", set_on(row))?;
    writeln!(out, "  here      {}", status_text(row))
}

fn set_on(row: &Setting) -> String {
    match row.scope {
        Scope::Broker(Update::ReadOnly) => "the broker, at start".to_owned(),
        Scope::Broker(Update::PerBroker) => "the broker, also while it runs".to_owned(),
        Scope::Broker(Update::ClusterWide) => {
            "the broker, also while it runs, also for all brokers".to_owned()
        }
        Scope::Topic { synonyms: [] } => "topics".to_owned(),
        Scope::Group { synonyms: [] } => "groups".to_owned(),
        Scope::Group { synonyms } => {
            format!("groups; without it the broker's {} decides", synonyms.join(", then "))
        }
        Scope::Topic { synonyms } => {
            format!("topics; without it the broker's {} decides", synonyms.join(", then "))
        }
    }
}

fn check(arguments: &BrokerArguments, out: &mut dyn Write) -> Result<(), CommandError> {
    let loaded = arguments.load(&Disk).map_err(usage)?;
    for note in &loaded.notes {
        writeln!(out, "{note}")?;
    }
    Ok(writeln!(out, "the configuration is accepted")?)
}

/// Lines of at most `width` characters, broken at spaces.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let last = lines.last_mut().expect("it starts with one line");
        if !last.is_empty() && last.len() + 1 + word.len() > width {
            lines.push(word.to_owned());
            continue;
        }
        if !last.is_empty() {
            last.push(' ');
        }
        last.push_str(word);
    }
    lines
}
