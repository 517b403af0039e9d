//! Options of the broker, and the configuration sources that they make.

use std::io;
use std::path::{Path, PathBuf};

use clap::Args;

use crate::config::{LoadError, Loaded, PropertiesFile, Sources, load};
use crate::env::{self, FileSystem};

/// Options of the broker.
#[derive(Clone, Debug, Default, Args)]
pub struct BrokerArguments {
    /// Address for clients: host:port, :port for all addresses, or Kafka's NAME://host:port[,...]
    #[arg(long, value_name = "ADDRESS")]
    pub listen: Option<String>,
    /// Directory for the data; made if missing
    #[arg(long, value_name = "DIR")]
    pub data_dir: Option<String>,
    /// Kafka's server.properties
    #[arg(long, short, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// One setting; may be repeated
    #[arg(long = "set", short = 's', value_name = "KEY=VALUE", value_parser = key_and_value)]
    pub set: Vec<(String, String)>,
    /// Address for /metrics, /healthz and /readyz; off unless given
    #[arg(long, value_name = "ADDRESS")]
    pub http: Option<String>,
}

/// Why the settings cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum SourcesError {
    /// The properties file cannot be read.
    #[error("the configuration file {} cannot be read: {reason}", .path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// Something in them is wrong.
    #[error(transparent)]
    Settings(#[from] LoadError),
}

impl BrokerArguments {
    /// The settings that these options, the environment and the properties file give.
    pub fn load(&self, files: &dyn FileSystem) -> Result<Loaded, SourcesError> {
        let file = self.config.as_deref().map(|path| read(files, path)).transpose()?;
        Ok(load(Sources {
            flags: self.flags(),
            variables: env::variables(),
            file,
            host_name: env::host_name(),
        })?)
    }

    /// The options as settings; `--set` goes last and so decides.
    fn flags(&self) -> Vec<(String, String)> {
        let own = [
            ("listeners", self.listen.as_deref().map(listener)),
            ("log.dirs", self.data_dir.clone()),
            ("highwater.http.listen", self.http.clone()),
        ];
        let own = own.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?)));
        own.chain(self.set.iter().cloned()).collect()
    }
}

/// An address without a name is the listener PLAINTEXT.
fn listener(address: &str) -> String {
    if address.contains("://") { address.to_owned() } else { format!("PLAINTEXT://{address}") }
}

pub(super) fn key_and_value(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => {
            Ok((key.trim().to_owned(), value.to_owned()))
        }
        _ => Err("expected KEY=VALUE, such as num.partitions=4".to_owned()),
    }
}

fn read(files: &dyn FileSystem, path: &Path) -> Result<PropertiesFile, SourcesError> {
    let unreadable =
        |e: io::Error| SourcesError::File { path: path.to_owned(), reason: e.to_string() };
    let missing =
        || SourcesError::File { path: path.to_owned(), reason: "there is no such file".to_owned() };
    let bytes = files.read(path).map_err(unreadable)?.ok_or_else(missing)?;
    Ok(PropertiesFile { path: path.to_owned(), bytes })
}
