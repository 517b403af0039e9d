//! What this process was given: its environment and the name of its host.

/// The environment. Variables that are not UTF-8 are left out: no setting has such a name or value.
pub fn variables() -> Vec<(String, String)> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect()
}

/// The name that this host has for itself.
pub fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}
