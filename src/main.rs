//! The process: arguments, logging, runtime, signals, exit code.
//!
//! Exit codes: 0 after a stop that was asked for, 1 if something failed while starting or running, 2 if the command line or
//! the configuration is wrong.

use std::io::{self, Write};
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use highwater::app::{self, Running, StartArgs};
use highwater::cli::{self, Arguments, BrokerArguments};
use highwater::config::{BrokerSettings, Durability, Loaded};
use highwater::env::{self, Env};
use highwater::observe::{self, Logging};
use tokio::runtime::{self, Runtime};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Exit code for a command line or a configuration that is wrong.
const USAGE: u8 = 2;

/// A clean stop that takes longer than this is given up: the next start recovers.
const STOP_WITHIN: Duration = Duration::from_secs(60);

/// Stack of a thread: the deepest call of the broker needs a few KiB, and only touched pages count.
const STACK_BYTES: usize = 1024 * 1024;

/// Blocking threads end after this time without work, so that an idle broker holds none.
const BLOCKING_IDLE: Duration = Duration::from_secs(2);

fn main() -> ExitCode {
    let env = Env::system();
    let arguments = Arguments::parse();
    let ended = match arguments.command {
        Some(command) => run_command(command),
        None => run_broker(&env, &arguments.broker),
    };
    match ended {
        Ok(code) => code,
        Err(failure) => {
            // Nobody is left to tell if even this fails.
            let _ = writeln!(io::stderr(), "highwater: {}", failure.text);
            ExitCode::from(failure.code)
        }
    }
}

/// Why the process ends, and how.
struct Failure {
    code: u8,
    text: String,
}

impl Failure {
    fn new(code: u8, error: impl ToString) -> Self {
        Self { code, text: error.to_string() }
    }
}

fn run_command(command: cli::Command) -> Result<ExitCode, Failure> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    let ran = cli::run(command, &mut out).and_then(|()| Ok(out.flush()?));
    match ran {
        Err(error) if error.exit_code() != 0 => Err(Failure::new(error.exit_code(), error)),
        Ok(()) | Err(_) => Ok(ExitCode::SUCCESS),
    }
}

fn run_broker(env: &Env, arguments: &BrokerArguments) -> Result<ExitCode, Failure> {
    let loaded = arguments.load(env.files.as_ref()).map_err(|e| Failure::new(USAGE, e))?;
    let logging = start_logging(&loaded.settings)?;
    observe::log_panics();
    log_notes(&loaded);
    if let Err(error) = env::raise_descriptor_limit() {
        tracing::warn!(%error, "the limit of open files cannot be raised");
    }
    let settings = app::within_memory_limit(loaded.settings, env::memory_limit());
    // Before there are threads: each would get an arena.
    env::bound_allocator(settings.memory_bytes);
    let runtime =
        runtime().map_err(|e| Failure::new(1, format!("the runtime cannot start: {e}")))?;
    let ended = runtime.block_on(serve(env, settings));
    // Whatever still runs now has outlived the time that a stop may take.
    runtime.shutdown_background();
    drop(logging);
    ended
}

/// RUST_LOG goes before the setting, as in every Rust program.
fn start_logging(settings: &BrokerSettings) -> Result<Logging, Failure> {
    let (origin, filter) = match std::env::var("RUST_LOG") {
        Ok(filter) => ("RUST_LOG", filter),
        Err(_) => ("highwater.log.level", settings.log_level.clone()),
    };
    observe::start_logging(&filter).map_err(|e| Failure::new(USAGE, format!("{origin}: {e}")))
}

fn runtime() -> io::Result<Runtime> {
    runtime::Builder::new_multi_thread()
        .enable_all()
        .thread_name("highwater")
        .thread_stack_size(STACK_BYTES)
        .thread_keep_alive(BLOCKING_IDLE)
        .build()
}

fn log_notes(loaded: &Loaded) {
    for note in &loaded.notes {
        if note.is_warning() {
            tracing::warn!("{note}");
        } else {
            tracing::info!("{note}");
        }
    }
}

/// Starts, says so, serves until a signal or a failure, stops.
async fn serve(env: &Env, settings: BrokerSettings) -> Result<ExitCode, Failure> {
    let failed = |e| Failure::new(1, e);
    // Before the start: a signal during a long one must not be lost.
    let mut signals = Signals::new().map_err(|e| Failure::new(1, e))?;
    let durability = settings.topic_defaults.durability;
    let running = app::start(StartArgs { env: env.clone(), settings })
        .await
        .map_err(|e| failed(e.to_string()))?;
    announce(env, &running, durability).map_err(|e| Failure::new(1, e))?;
    let code = tokio::select! {
        name = signals.next() => {
            tracing::info!(signal = name, "stopping");
            ExitCode::SUCCESS
        }
        () = running.failed() => ExitCode::FAILURE,
    };
    stop(running, &mut signals).await.map(|()| code)
}

async fn stop(running: Running, signals: &mut Signals) -> Result<(), Failure> {
    tokio::select! {
        stopped = running.stop() => {
            stopped.map_err(|e| Failure::new(1, e))?;
            tracing::info!("stopped");
            Ok(())
        }
        name = signals.next() => Err(Failure::new(1, format!("{name} again: ended without a clean stop"))),
        () = tokio::time::sleep(STOP_WITHIN) => {
            Err(Failure::new(1, format!("not stopped after {STOP_WITHIN:?}: ended without a clean stop")))
        }
    }
}

/// The one line that says where the broker is, whatever the log level.
fn announce(env: &Env, running: &Running, durability: Durability) -> io::Result<()> {
    let listed = |items: Vec<String>| items.join(", ");
    let settings = &running.broker().settings;
    let addresses = listed(running.addresses().iter().map(ToString::to_string).collect());
    let directories =
        listed(settings.log_dirs.iter().map(|path| path.display().to_string()).collect());
    let http =
        running.http_address().map(|address| format!(", http on {address}")).unwrap_or_default();
    let durability = match durability {
        Durability::Fsync => "fsync",
        Durability::Os => "os",
        Durability::Interval { .. } => "interval",
    };
    let version = env!("CARGO_PKG_VERSION");
    let ready_ms = env.clock.monotonic().as_millis();
    let mut out = io::stdout().lock();
    writeln!(
        out,
        "highwater {version} listening on {addresses}{http}, data in {directories}, durability {durability}, ready in \
         {ready_ms} ms"
    )?;
    out.flush()
}

/// SIGTERM and SIGINT.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    fn new() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    /// The name of the next one. Cancel safe.
    async fn next(&mut self) -> &'static str {
        tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
        }
    }
}
