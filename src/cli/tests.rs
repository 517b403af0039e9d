//! The command line as a user meets it.

use clap::{CommandFactory, Parser};

use super::*;

fn run_line(words: &[&str]) -> Result<String, CommandError> {
    let arguments = Arguments::try_parse_from([&["highwater"], words].concat())
        .map_err(|e| CommandError::Usage(e.to_string()))?;
    let mut out = Vec::new();
    run(arguments.command.expect("the test names a command"), &mut out)?;
    Ok(String::from_utf8(out).unwrap())
}

#[test]
fn the_arguments_are_well_formed() {
    Arguments::command().debug_assert();
}

#[test]
fn the_broker_is_named_as_kafkas_tools_name_it_too() {
    let named = ["topic", "list", "--bootstrap-server", "127.0.0.1:1"];
    let refused = run_line(&named).expect_err("nobody listens there").to_string();
    assert!(refused.contains("127.0.0.1:1"), "{refused}");
    let mut commands = vec![Arguments::command()];
    let mut asking = 0;
    while let Some(command) = commands.pop() {
        commands.extend(command.get_subcommands().cloned());
        let mut arguments = command.get_arguments();
        if let Some(broker) = arguments.find(|argument| argument.get_long() == Some("broker")) {
            let aliases = broker.get_all_aliases().unwrap_or_default();
            assert_eq!(aliases, ["bootstrap-server"], "{}", command.get_name());
            asking += 1;
        }
    }
    assert!(asking >= 15, "{asking} commands that ask a broker");
}

#[test]
fn without_a_command_it_is_a_broker() {
    let line =
        ["highwater", "--listen", ":9092", "--data-dir", "d", "--set", "a.b=c=d", "--http", ":1"];
    let arguments = Arguments::try_parse_from(line).unwrap();
    assert!(arguments.command.is_none());
    assert_eq!(arguments.broker.listen.as_deref(), Some(":9092"));
    assert_eq!(arguments.broker.set, [("a.b".to_owned(), "c=d".to_owned())]);
    assert!(Arguments::try_parse_from(["highwater", "--set", "novalue"]).is_err());
}

#[test]
fn list_shows_values_and_who_gave_them() {
    let text =
        run_line(&["config", "list", "replica.lag", "--set", "replica.lag.time.max.ms=7"]).unwrap();
    assert_eq!(text, "replica.lag.time.max.ms  7  command line\n");
    let text = run_line(&["config", "list", "retention.minutes"]).unwrap();
    assert_eq!(text.lines().count(), 2, "{text}");
    assert!(text.contains("(not set)") && text.ends_with("default\n"), "{text}");
}

#[test]
fn list_of_topic_settings_names_the_giver_of_the_broker_setting() {
    let text =
        run_line(&["config", "list", "--topic", "retention.ms", "-s", "log.retention.hours=1"])
            .unwrap();
    assert!(
        text.contains("\nretention.ms")
            && text.contains("3600000")
            && text.contains("command line"),
        "{text}"
    );
}

#[test]
fn explain_says_what_a_setting_accepts_and_does() {
    let text = run_line(&["config", "explain", "num.partitions"]).unwrap();
    for part in [
        "accepts   an integer, 1 or more",
        "default   1",
        "here      acts",
        "in force  1 (default)",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let both = run_line(&["config", "explain", "compression.type"]).unwrap();
    assert_eq!(both.matches("set on").count(), 2, "{both}");
}

#[test]
fn explain_of_a_misspelt_key_suggests_the_right_one() {
    let error = run_line(&["config", "explain", "num.partition"]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "there is no setting num.partition; did you mean num.partitions?"
    );
    assert_eq!(error.exit_code(), 2);
}

#[test]
fn check_refuses_what_the_broker_would_refuse() {
    let error = run_line(&["config", "check", "--set", "num.partitions=x"]).unwrap_err();
    assert!(
        error.to_string().starts_with("command line: num.partitions: Invalid value x"),
        "{error}"
    );
    let accepted = run_line(&["config", "check"]).unwrap();
    assert_eq!(accepted, "the configuration is accepted\n");
}
