//! The real binary, started as a person would start it.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Output, Stdio};

/// A running `evenhand serve`. Killed (-9) when dropped.
pub struct Process {
    child: Child,
    pub address: String,
}

impl Process {
    /// The binary with a clean environment.
    pub fn command(args: &[&str]) -> Command {
        Self::within(&[], args)
    }

    /// The binary with a clean environment, started by another program: `["nice", "-n", "5"]`.
    pub fn within(starter: &[&str], args: &[&str]) -> Command {
        // Clients of the tests need it too, where no App has set it up.
        judge::llm::install_tls();
        let binary = [env!("CARGO_BIN_EXE_evenhand")];
        let mut words = starter.iter().chain(&binary);
        let mut command = Command::new(words.next().unwrap());
        command.args(words);
        for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("EVENHAND_")) {
            command.env_remove(name);
        }
        command.args(args).env("EVENHAND_GOVERNANCE__KEYS", super::TEST_KEYS);
        command
    }

    /// Runs a command to its end.
    pub fn run(args: &[&str]) -> Output {
        Self::command(args).output().unwrap()
    }

    /// Starts `evenhand serve` on a free port and waits until it listens.
    pub fn serve(args: &[&str]) -> Self {
        let mut command = Self::command(&["serve", "--listen", "127.0.0.1:0"]);
        Self::start(command.args(args))
    }

    pub fn start(command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let line = lines.next().expect("the server says where it listens").unwrap();
        let address = line.split("http://").nth(1).expect("an address").trim().to_owned();
        Process { child, address }
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Waits until it ended by itself.
    pub async fn ended(&mut self) {
        for _ in 0..1200 {
            if self.child.try_wait().unwrap().is_some() {
                return;
            }
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
        panic!("the process goes on");
    }

    /// SIGTERM, then the exit code and how long it took.
    pub fn terminate(&mut self) -> (Option<i32>, std::time::Duration) {
        let started = std::time::Instant::now();
        let id = self.child.id().to_string();
        Command::new("kill").args(["-TERM", &id]).status().unwrap();
        let code = self.child.wait().unwrap().code();
        (code, started.elapsed())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}
