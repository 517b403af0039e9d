//! The binary as a child process.

use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// A running broker on a port of its own; killed when dropped.
pub(crate) struct Process {
    child: Child,
    first_line: String,
    address: SocketAddr,
}

const BINARY: &str = env!("CARGO_BIN_EXE_highwater");

/// The binary without the settings of whoever runs the tests.
fn command() -> Command {
    command_of(BINARY)
}

fn command_of(program: &str) -> Command {
    let mut command = Command::new(program);
    for (name, _) in std::env::vars() {
        if name.starts_with("KAFKA_") || name.starts_with("HIGHWATER_") || name == "RUST_LOG" {
            command.env_remove(name);
        }
    }
    command
}

impl Process {
    /// Starts a broker on `directory` and waits for the line that says it is ready.
    pub(crate) fn start(directory: &Path, variables: &[(&str, &str)]) -> Self {
        Self::start_as(command(), directory, variables)
    }

    /// The same in a process that may open so many files.
    pub(crate) fn start_with_descriptors(directory: &Path, most: u32) -> Self {
        let script = format!("ulimit -n {most}; exec \"$0\" \"$@\"");
        let mut shell = command_of("sh");
        shell.args(["-c", &script, BINARY]);
        Self::start_as(shell, directory, &[])
    }

    /// The same in a process that may have so much address space.
    #[allow(dead_code, reason = "each test uses a part of it")]
    pub(crate) fn start_within(
        directory: &Path,
        variables: &[(&str, &str)],
        most_kib: u64,
    ) -> Self {
        let script = format!("ulimit -v {most_kib}; exec \"$0\" \"$@\"");
        let mut shell = command_of("sh");
        shell.args(["-c", &script, BINARY]);
        Self::start_as(shell, directory, variables)
    }

    /// The same in a control group, if there is one.
    #[allow(dead_code, reason = "each test uses a part of it")]
    pub(crate) fn start_in_group(
        directory: &Path,
        variables: &[(&str, &str)],
        group: Option<&Path>,
    ) -> Self {
        let Some(group) = group else { return Self::start_as(command(), directory, variables) };
        let enter = format!("echo $$ > {}/cgroup.procs; exec \"$0\" \"$@\"", group.display());
        let mut shell = command_of("sh");
        shell.args(["-c", &enter, BINARY]);
        Self::start_as(shell, directory, variables)
    }

    fn start_as(mut command: Command, directory: &Path, variables: &[(&str, &str)]) -> Self {
        let mut child = command
            .args(["--listen", "127.0.0.1:0", "--data-dir"])
            .arg(directory)
            .envs(variables.iter().copied())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the binary starts");
        let mut out = BufReader::new(child.stdout.take().expect("it is piped"));
        let mut first_line = String::new();
        out.read_line(&mut first_line).expect("it says something");
        child.stdout = Some(out.into_inner());
        let first_line = first_line.trim_end().to_owned();
        let address = first_line
            .split_once("listening on ")
            .and_then(|(_, rest)| rest.split(',').next()?.parse().ok())
            .unwrap_or_else(|| panic!("no address in `{first_line}`"));
        Self { child, first_line, address }
    }

    pub(crate) fn first_line(&self) -> &str {
        &self.first_line
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn signal(&self, signal: i32) {
        let pid = i32::try_from(self.child.id()).expect("a process id is a small number");
        // SAFETY: sends a signal to a child of ours that has not been waited for.
        assert_eq!(unsafe { libc::kill(pid, signal) }, 0);
    }

    /// How it has ended, if it has.
    #[allow(dead_code, reason = "each test uses a part of it")]
    pub(crate) fn ended(&mut self) -> Option<std::process::ExitStatus> {
        self.child.try_wait().expect("it is our child")
    }

    /// The exit code; `None` if a signal ended it.
    pub(crate) fn wait(&mut self) -> Option<i32> {
        self.child.wait().expect("it is our child").code()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Fails if it has ended, which is what is wanted.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What a command of the binary prints; it must succeed.
pub(crate) fn commanded(arguments: &[&str], input: &str) -> String {
    let mut command = command();
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().expect("the binary starts");
    let mut stdin = child.stdin.take().expect("it is piped");
    stdin.write_all(input.as_bytes()).expect("it reads");
    drop(stdin);
    let output = child.wait_with_output().expect("it is our child");
    assert!(output.status.success(), "{arguments:?}: {}", output.status);
    String::from_utf8(output.stdout).expect("text")
}

/// Exit code and standard error of a start that is refused.
pub(crate) fn refused(arguments: &[&str]) -> (Option<i32>, String) {
    refused_with(arguments, &[])
}

/// As [`refused`], with environment variables.
pub(crate) fn refused_with(
    arguments: &[&str],
    variables: &[(&str, &str)],
) -> (Option<i32>, String) {
    let mut command = command();
    let output = command.args(arguments).envs(variables.iter().copied()).output().unwrap();
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}
