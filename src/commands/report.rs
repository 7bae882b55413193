//! Answers of a server, for people and for programs.

use clap::{Args, ValueEnum};
use serde_json::Value;

/// Form of what a command finds.
#[derive(Args, Clone, Copy)]
pub struct Output {
    #[arg(long, value_enum, default_value_t = Format::Report)]
    format: Format,
    /// The same as --format json
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Format {
    Report,
    Json,
}

impl Output {
    pub fn is_json(self) -> bool {
        self.json || self.format == Format::Json
    }

    /// Prints a value, or the rows made of it under their headings.
    pub fn table<const N: usize>(
        self,
        found: &Value,
        headings: [&str; N],
        rows: impl FnOnce() -> Vec<[String; N]>,
    ) {
        if self.is_json() {
            say_line!("{found:#}");
            return;
        }
        let rows = rows();
        if rows.is_empty() {
            eprintln!("none found");
            return;
        }
        say!("{}", aligned(headings.map(str::to_owned), &rows));
    }
}

/// Rows under their headings, each column but the last as wide as its widest cell.
fn aligned<const N: usize>(headings: [String; N], rows: &[[String; N]]) -> String {
    let lines = || std::iter::once(&headings).chain(rows);
    let length = |line: &[String; N], column: usize| line[column].chars().count();
    let widths: [usize; N] =
        std::array::from_fn(|column| lines().map(|line| length(line, column)).max().unwrap_or(0));
    let mut text = String::new();
    for line in lines() {
        let cells: Vec<String> =
            line.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        text.push_str(cells.join("  ").trim_end());
        text.push('\n');
    }
    text
}

/// The items of a list in an answer.
pub fn items<'a>(found: &'a Value, list: &str) -> &'a [Value] {
    found[list].as_array().map_or(&[], Vec::as_slice)
}

/// A value in a cell: words without their quotes, on one line, nothing for null.
pub fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => one_line(text),
        other => other.to_string(),
    }
}

/// Text as one line that a terminal shows and does not obey: people's words may hold control characters.
pub fn one_line(text: &str) -> String {
    let words = text.split(|c: char| c.is_whitespace() || c.is_control());
    words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

/// The beginning of a text, for a table.
pub fn beginning(value: &Value, most: usize) -> String {
    let text = cell(value);
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// Unix seconds as a date and time of day, UTC.
pub fn time(value: &Value) -> String {
    let moment = value.as_i64().and_then(|seconds| jiff::Timestamp::from_second(seconds).ok());
    moment.map(|moment| moment.strftime("%Y-%m-%d %H:%M:%S").to_string()).unwrap_or_default()
}

/// A number with its sign and decimals, nothing for null.
pub fn signed(value: &Value) -> String {
    value.as_f64().map(|number| format!("{number:+.2}")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = [["é".to_owned(), "x".to_owned()], ["long".to_owned(), String::new()]];
        assert_eq!(aligned(["a".into(), "b".into()], &rows), "a     b\né     x\nlong\n");
    }

    #[test]
    fn cells_hold_no_control_characters() {
        assert_eq!(cell(&json!("a\u{1b}[31m\nb\u{9b}c")), "a [31m b c");
        assert_eq!(beginning(&json!("äöü"), 2), "äö…");
        assert_eq!(time(&json!(86_400)), "1970-01-02 00:00:00");
        assert_eq!((cell(&Value::Null), signed(&json!(2))), (String::new(), "+2.00".to_owned()));
    }
}
