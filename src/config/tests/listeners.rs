//! `listeners` and what belongs to them.

use super::{refusal, settings};
use crate::config::Listener;

fn listeners(text: &str) -> Vec<Listener> {
    settings(text).listeners
}

fn listener(name: &str, host: &str, port: u16, advertised: (&str, u16)) -> Listener {
    Listener {
        name: name.to_owned(),
        host: host.to_owned(),
        port,
        advertised_host: advertised.0.to_owned(),
        advertised_port: advertised.1,
    }
}

#[test]
fn several_names_with_addresses_of_their_own() {
    let text = "\
listeners=INTERNAL://:19092,EXTERNAL://0.0.0.0:9092,CONTROLLER://:9093
advertised.listeners=EXTERNAL://broker.example.org:443
listener.security.protocol.map=INTERNAL:PLAINTEXT,EXTERNAL:PLAINTEXT,CONTROLLER:PLAINTEXT
controller.listener.names=CONTROLLER
inter.broker.listener.name=INTERNAL
";
    let expected = [
        listener("INTERNAL", "", 19092, ("the-host", 0)),
        listener("EXTERNAL", "0.0.0.0", 9092, ("broker.example.org", 443)),
    ];
    assert_eq!(listeners(text), expected);
}

#[test]
fn ipv6_addresses_stand_in_brackets() {
    let expected = [listener("PLAINTEXT", "::1", 9092, ("::1", 0))];
    assert_eq!(listeners("listeners=PLAINTEXT://[::1]:9092"), expected);
    let everywhere = [listener("PLAINTEXT", "::", 9092, ("the-host", 0))];
    assert_eq!(listeners("listeners=PLAINTEXT://[::]:9092"), everywhere);
}

#[test]
fn one_port_may_be_taken_on_ipv4_and_ipv6() {
    let text = "listeners=A://127.0.0.1:9092,B://[::1]:9092\nlistener.security.protocol.map=A:PLAINTEXT,B:PLAINTEXT\n";
    assert_eq!(listeners(text).len(), 2);
    let refused = refusal("listeners=A://127.0.0.1:9092,B://127.0.0.1:9092");
    assert!(
        refused.contains("Each listener must have a different port; 9092 is there twice"),
        "{refused}"
    );
}

#[test]
fn names_are_compared_in_upper_case() {
    let expected = [listener("PLAINTEXT", "h", 1, ("h", 0))];
    assert_eq!(listeners("listeners=plaintext://h:1"), expected);
}

#[test]
fn a_comma_at_the_end_is_passed_over() {
    let text = "listeners=PLAINTEXT://:9092,\nadvertised.listeners=PLAINTEXT://localhost:32768,\n";
    assert_eq!(listeners(text), [listener("PLAINTEXT", "", 9092, ("localhost", 32768))]);
}

#[test]
fn what_cannot_be_served_is_refused_with_line_and_reason() {
    let cases = [
        (
            "listeners=PLAINTEXT:9092",
            "Unable to parse PLAINTEXT:9092 to a broker endpoint; expected NAME://host:port",
        ),
        (
            "listeners=PLAINTEXT://h:99999",
            "Unable to parse PLAINTEXT://h:99999 to a broker endpoint; expected NAME://host:port",
        ),
        (
            "listeners=PLAINTEXT://:1,PLAINTEXT://:2",
            "Each listener must have a different name; PLAINTEXT is there twice",
        ),
        (
            "listeners=FOO://:1",
            "No security protocol defined for listener FOO in listener.security.protocol.map",
        ),
        (
            "listeners=SSL://:1",
            "Listener SSL uses SSL: TLS and SASL are not there yet, only PLAINTEXT is",
        ),
        (
            "listeners=SASL_PLAINTEXT://:1",
            "Listener SASL_PLAINTEXT uses SASL_PLAINTEXT: TLS and SASL are not there yet, only PLAINTEXT is",
        ),
    ];
    for (text, reason) in cases {
        assert_eq!(refusal(text), format!("server.properties line 1: listeners: {reason}"));
    }
}

#[test]
fn advertised_addresses_must_be_reachable_and_known() {
    let refused = refusal("advertised.listeners=PLAINTEXT://0.0.0.0:9092");
    assert!(
        refused.contains(
            "cannot use the nonroutable meta-address 0.0.0.0. Use a routable IP address."
        ),
        "{refused}"
    );
    let refused = refusal("advertised.listeners=OTHER://h:1");
    assert!(refused.contains("OTHER is advertised but not one of the listeners"), "{refused}");
}

#[test]
fn protocols_are_checked() {
    let refused = refusal("listener.security.protocol.map=PLAINTEXT:FOO");
    assert!(refused.contains("Invalid security protocol `FOO`"), "{refused}");
    let refused = refusal("listener.security.protocol.map=PLAINTEXT");
    assert!(refused.contains("`PLAINTEXT` is no pair NAME:PROTOCOL"), "{refused}");
}

#[test]
fn controller_listeners_may_speak_what_is_not_there_yet() {
    let text = "\
listeners=PLAINTEXT://:9092,CONTROLLER://:9093
controller.listener.names=CONTROLLER
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:SSL
";
    assert_eq!(listeners(text).len(), 1);
}

#[test]
fn bound_ports_are_told_where_the_settings_leave_them_open() {
    let settings = settings("listeners=PLAINTEXT://127.0.0.1:0");
    let bound = settings.with_bound_ports(&["127.0.0.1:4321".parse().unwrap()]);
    assert_eq!(bound.listeners, [listener("PLAINTEXT", "127.0.0.1", 4321, ("127.0.0.1", 4321))]);
}
