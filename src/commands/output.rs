//! Standard output of commands. A reader that closes the pipe early (`evenhand openapi | head -1`) is no error; a full
//! disk is, and [`failure`] reports it when the command has done its work.

use std::fmt::Arguments;
use std::io::{ErrorKind, Write};
use std::sync::OnceLock;

static FAILURE: OnceLock<String> = OnceLock::new();

/// `print!` that does not panic when nobody reads.
macro_rules! say {
    ($($text:tt)*) => { $crate::commands::output::write(format_args!($($text)*)) };
}

/// `println!` that does not panic when nobody reads.
macro_rules! say_line {
    ($($text:tt)*) => { $crate::commands::output::write(format_args!("{}\n", format_args!($($text)*))) };
}

pub(super) fn write(text: Arguments<'_>) {
    let mut out = std::io::stdout().lock();
    match out.write_fmt(text).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            let _ = FAILURE.set(error.to_string());
        }
        _ => {}
    }
}

/// The first failure to write, if there was one.
pub(super) fn failure() -> Option<&'static str> {
    FAILURE.get().map(String::as_str)
}
