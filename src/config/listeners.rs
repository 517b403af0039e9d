//! `listeners`, `advertised.listeners` and what they refer to.

use super::broker_settings::Listener;
use super::layers::Layers;

/// One entry of a listener list: `NAME://host:port`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Endpoint {
    name: String,
    host: String,
    port: u16,
}

/// What is wrong with the listeners: the setting and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct WrongListeners {
    pub(super) key: &'static str,
    pub(super) reason: String,
}

const PROTOCOLS: &[&str] = &["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"];

/// The listeners to bind. Those named in `controller.listener.names` are known and left out: there is no controller to talk
/// to. Listeners on all addresses that are not advertised under a name get `host_name`, as in Kafka.
pub(super) fn resolve(
    layers: Layers<'_>,
    host_name: &str,
) -> Result<Vec<Listener>, WrongListeners> {
    let controllers = upper_case(layers.list("controller.listener.names"));
    let bound = endpoints("listeners", &layers.list("listeners"))?;
    distinct("listeners", &bound)?;
    distinct_ports(&bound)?;
    let advertised = endpoints("advertised.listeners", &layers.list("advertised.listeners"))?;
    distinct("advertised.listeners", &advertised)?;
    check_protocols(layers, bound.iter().filter(|e| !controllers.contains(&e.name)))?;
    check_advertised(&bound, &advertised)?;
    let listeners: Vec<Listener> = bound
        .into_iter()
        .filter(|endpoint| !controllers.contains(&endpoint.name))
        .map(|endpoint| listener(endpoint, &advertised, host_name))
        .collect();
    if listeners.is_empty() {
        return Err(wrong(
            "listeners",
            "all of them are controller listeners (controller.listener.names); a broker needs one for clients",
        ));
    }
    Ok(listeners)
}

fn listener(bound: Endpoint, advertised: &[Endpoint], host_name: &str) -> Listener {
    let told = advertised.iter().find(|endpoint| endpoint.name == bound.name);
    let host = told.map_or(&bound.host, |endpoint| &endpoint.host);
    let everywhere = matches!(host.as_str(), "" | "0.0.0.0" | "::");
    Listener {
        advertised_host: if everywhere { host_name.to_owned() } else { host.clone() },
        advertised_port: told.map_or(0, |endpoint| endpoint.port),
        name: bound.name,
        host: bound.host,
        port: bound.port,
    }
}

fn endpoints(key: &'static str, list: &[String]) -> Result<Vec<Endpoint>, WrongListeners> {
    let parse = |text: &String| {
        endpoint(text).ok_or_else(|| {
            wrong(
                key,
                &format!("Unable to parse {text} to a broker endpoint; expected NAME://host:port"),
            )
        })
    };
    list.iter().map(parse).collect()
}

/// `NAME://host:port`, `NAME://:port`, `NAME://[v6]:port`.
fn endpoint(text: &str) -> Option<Endpoint> {
    let (name, address) = text.split_once("://")?;
    let (host, port) = address.rsplit_once(':')?;
    let bracketed = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    let legal_host = match bracketed {
        Some(v6) => v6.chars().all(|c| c.is_ascii_hexdigit() || matches!(c, ':' | '.' | '%')),
        // A bare IPv6 address is fine for Kafka: the last colon separates the port.
        None => host.chars().all(|c| legal(c) || c == ':'),
    };
    if name.is_empty() || !name.chars().all(legal) || !legal_host {
        return None;
    }
    let host = bracketed.unwrap_or(host).to_owned();
    Some(Endpoint { name: name.to_ascii_uppercase(), host, port: port.parse().ok()? })
}

fn distinct(key: &'static str, endpoints: &[Endpoint]) -> Result<(), WrongListeners> {
    for (index, endpoint) in endpoints.iter().enumerate() {
        if endpoints[..index].iter().any(|other| other.name == endpoint.name) {
            return Err(wrong(
                key,
                &format!(
                    "Each listener must have a different name; {} is there twice",
                    endpoint.name
                ),
            ));
        }
    }
    Ok(())
}

/// One port may be used on an IPv4 and an IPv6 address; otherwise ports differ.
fn distinct_ports(endpoints: &[Endpoint]) -> Result<(), WrongListeners> {
    for (index, endpoint) in endpoints.iter().enumerate().filter(|(_, endpoint)| endpoint.port != 0)
    {
        let clash = |other: &&Endpoint| {
            other.port == endpoint.port && is_v6(&other.host) == is_v6(&endpoint.host)
        };
        if endpoints[..index].iter().find(clash).is_some() {
            return Err(wrong(
                "listeners",
                &format!(
                    "Each listener must have a different port; {} is there twice",
                    endpoint.port
                ),
            ));
        }
    }
    Ok(())
}

fn is_v6(host: &str) -> bool {
    host.contains(':')
}

fn check_protocols<'a>(
    layers: Layers<'_>,
    endpoints: impl Iterator<Item = &'a Endpoint>,
) -> Result<(), WrongListeners> {
    let map = protocol_map(&layers.text("listener.security.protocol.map").unwrap_or_default())?;
    for endpoint in endpoints {
        match map.iter().find(|(name, _)| *name == endpoint.name) {
            None => {
                return Err(wrong(
                    "listeners",
                    &format!(
                        "No security protocol defined for listener {} in listener.security.protocol.map",
                        endpoint.name
                    ),
                ));
            }
            Some((_, protocol)) if protocol != "PLAINTEXT" => {
                return Err(wrong(
                    "listeners",
                    &format!(
                        "Listener {} uses {protocol}: TLS and SASL are not there yet, only PLAINTEXT is",
                        endpoint.name
                    ),
                ));
            }
            Some(_) => {}
        }
    }
    Ok(())
}

fn protocol_map(text: &str) -> Result<Vec<(String, String)>, WrongListeners> {
    const KEY: &str = "listener.security.protocol.map";
    let mut map = Vec::new();
    for entry in text.split(',').map(str::trim).filter(|entry| !entry.is_empty()) {
        let Some((name, protocol)) = entry.rsplit_once(':') else {
            return Err(wrong(KEY, &format!("`{entry}` is no pair NAME:PROTOCOL")));
        };
        let protocol = protocol.trim().to_ascii_uppercase();
        if !PROTOCOLS.contains(&protocol.as_str()) {
            return Err(wrong(
                KEY,
                &format!(
                    "Invalid security protocol `{protocol}`; expected one of {}",
                    PROTOCOLS.join(", ")
                ),
            ));
        }
        map.push((name.trim().to_ascii_uppercase(), protocol));
    }
    Ok(map)
}

fn check_advertised(bound: &[Endpoint], advertised: &[Endpoint]) -> Result<(), WrongListeners> {
    const KEY: &str = "advertised.listeners";
    for endpoint in advertised {
        if matches!(endpoint.host.as_str(), "0.0.0.0" | "::") {
            return Err(wrong(
                KEY,
                &format!(
                    "advertised.listeners cannot use the nonroutable meta-address {}. Use a routable IP address.",
                    endpoint.host
                ),
            ));
        }
        if !bound.iter().any(|listener| listener.name == endpoint.name) {
            return Err(wrong(
                KEY,
                &format!("{} is advertised but not one of the listeners", endpoint.name),
            ));
        }
    }
    Ok(())
}

fn upper_case(names: Vec<String>) -> Vec<String> {
    names.into_iter().map(|name| name.to_ascii_uppercase()).collect()
}

fn wrong(key: &'static str, reason: &str) -> WrongListeners {
    WrongListeners { key, reason: reason.to_owned() }
}
