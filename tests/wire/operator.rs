//! What an operator does: runs commands, looks at metrics.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use clap::Parser;
use highwater::cli::{self, Arguments, CommandError};

use crate::broker::TestBroker;

/// Runs `highwater ...` against the broker.
pub(crate) async fn run(broker: &TestBroker, words: &str) -> Result<String, CommandError> {
    let line = format!("highwater {words} --broker {}", broker.address);
    let run = move || {
        let words = line.split_whitespace();
        let arguments = Arguments::try_parse_from(words)
            .map_err(|error| CommandError::Usage(error.to_string()))?;
        let mut out = Vec::new();
        cli::run(arguments.command.unwrap(), &mut out)?;
        Ok(String::from_utf8(out).unwrap())
    };
    tokio::task::spawn_blocking(run).await.unwrap()
}

/// The metrics of a broker with an HTTP port.
pub(crate) async fn metrics(broker: &TestBroker) -> String {
    let address = broker.http_address().unwrap();
    tokio::task::spawn_blocking(move || get(address)).await.unwrap()
}

fn get(address: SocketAddr) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(b"GET /metrics HTTP/1.1\r\nhost: test\r\nconnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

/// The value of a series.
pub(crate) fn value(metrics: &str, series: &str) -> Option<f64> {
    let line = metrics.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
    line.map(|value| value.parse().unwrap())
}

/// Lines as fields.
pub(crate) fn fields(text: &str) -> Vec<Vec<&str>> {
    text.lines().map(|line| line.split_whitespace().collect()).collect()
}
