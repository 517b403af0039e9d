//! A broker in this process, on a port of its own and in a directory of its own.

use std::net::SocketAddr;
use std::ops::Deref;

use highwater::app::{Running, StartArgs, start};
use highwater::config::{BrokerSettings, Listener, Sources, load};
use highwater::env::Env;

use crate::data_directories::DataDirectories;

/// A running broker; its directory goes away with it.
pub(crate) struct TestBroker {
    pub(crate) address: SocketAddr,
    running: Running,
    /// Looked at strictly in the end.
    directory: DataDirectories,
}

impl TestBroker {
    /// With the defaults.
    pub(crate) async fn start() -> Self {
        Self::start_with(|_| {}).await
    }

    /// With settings changed by `change`.
    pub(crate) async fn start_with(change: impl FnOnce(&mut BrokerSettings)) -> Self {
        Self::start_from(BrokerSettings::default(), change).await
    }

    /// With settings as the command line gives them.
    pub(crate) async fn start_set(settings: &[(&str, &str)]) -> Self {
        Self::start_from(given(settings), |_| {}).await
    }

    /// With `base` but for what every test has of its own, changed by `change`.
    pub(crate) async fn start_from(
        base: BrokerSettings,
        change: impl FnOnce(&mut BrokerSettings),
    ) -> Self {
        let directory = DataDirectories::one();
        let mut settings = BrokerSettings {
            listeners: vec![Listener {
                name: "PLAINTEXT".to_owned(),
                host: "127.0.0.1".to_owned(),
                port: 0,
                advertised_host: "127.0.0.1".to_owned(),
                advertised_port: 0,
            }],
            log_dirs: vec![directory.path().to_owned()],
            metadata_log_dir: directory.path().to_owned(),
            ..base
        };
        change(&mut settings);
        let running = start(StartArgs { env: Env::system(), settings }).await.expect("a broker");
        Self { address: running.addresses()[0], running, directory }
    }

    /// Names of the directories of partitions, in order.
    pub(crate) fn partition_directories(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.directory.path()).expect("the directory is there");
        let entries = entries.map(|entry| entry.expect("an entry"));
        let directories = entries.filter(|entry| entry.path().is_dir());
        let mut names: Vec<String> =
            directories.map(|entry| entry.file_name().into_string().expect("a name")).collect();
        names.sort();
        names
    }

    /// Stops it as a signal would.
    pub(crate) async fn stop(self) {
        self.running.stop().await.expect("the logs close");
        drop(self.directory);
    }
}

/// Settings as the command line gives them.
pub(crate) fn given(settings: &[(&str, &str)]) -> BrokerSettings {
    let owned = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
    let flags = settings.iter().map(owned).collect();
    load(Sources { flags, ..Sources::default() }).expect("settings").settings
}

impl Deref for TestBroker {
    type Target = Running;

    fn deref(&self) -> &Running {
        &self.running
    }
}
