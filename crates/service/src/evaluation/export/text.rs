//! Exports as lines of text.

use std::io::Write;

use serde_json::{Map, Value};

use super::{Cell, ExportedVerdict, Form};
use storage::error::{Error, Result};

/// RFC 4180, with a header. Null is empty; text that a spreadsheet would take for a formula gets a quote in front.
pub struct Csv;

impl Form for Csv {
    fn head(&mut self) -> Result<Vec<u8>> {
        let blank = ExportedVerdict::blank();
        let names: Vec<&str> = blank.cells().iter().map(|(name, _)| *name).collect();
        Ok(format!("{}\r\n", names.join(",")).into_bytes())
    }

    fn page(&mut self, verdicts: &[ExportedVerdict]) -> Result<Vec<u8>> {
        let mut bytes = Vec::with_capacity(verdicts.len() * 200);
        for verdict in verdicts {
            for (index, (_, cell)) in verdict.cells().iter().enumerate() {
                if index > 0 {
                    bytes.push(b',');
                }
                let written = match cell {
                    Cell::Text(text) => {
                        bytes.extend(quoted(text.unwrap_or_default()).into_bytes());
                        Ok(())
                    }
                    Cell::Integer(Some(number)) => write!(bytes, "{number}"),
                    Cell::Number(Some(number)) => write!(bytes, "{number}"),
                    Cell::Integer(None) | Cell::Number(None) => Ok(()),
                    Cell::Flag(flag) => write!(bytes, "{flag}"),
                };
                written.map_err(|e| Error::Internal(e.to_string()))?;
            }
            bytes.extend(b"\r\n");
        }
        Ok(bytes)
    }

    fn foot(&mut self) -> Result<Vec<u8>> {
        Ok(Vec::new())
    }
}

fn quoted(text: &str) -> String {
    let formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    if !formula && !text.contains([',', '"', '\n', '\r']) {
        return text.to_owned();
    }
    let guard = if formula { "'" } else { "" };
    format!("\"{guard}{}\"", text.replace('"', "\"\""))
}

/// One JSON object a line.
pub struct Ndjson;

impl Form for Ndjson {
    fn head(&mut self) -> Result<Vec<u8>> {
        Ok(Vec::new())
    }

    fn page(&mut self, verdicts: &[ExportedVerdict]) -> Result<Vec<u8>> {
        let mut bytes = Vec::with_capacity(verdicts.len() * 600);
        for verdict in verdicts {
            let value = |cell: Cell<'_>| match cell {
                Cell::Text(text) => Value::from(text),
                Cell::Integer(number) => Value::from(number),
                Cell::Number(number) => Value::from(number),
                Cell::Flag(flag) => Value::from(flag),
            };
            let line: Map<String, Value> = verdict
                .cells()
                .map(|(name, cell)| (name.to_owned(), value(cell)))
                .into_iter()
                .collect();
            serde_json::to_writer(&mut bytes, &line).map_err(|e| Error::Internal(e.to_string()))?;
            bytes.push(b'\n');
        }
        Ok(bytes)
    }

    fn foot(&mut self) -> Result<Vec<u8>> {
        Ok(Vec::new())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_quoted_where_it_must_be() {
        assert_eq!(quoted("plain"), "plain");
        assert_eq!(quoted("a,\"b\""), "\"a,\"\"b\"\"\"");
        assert_eq!(quoted("=1+1"), "\"'=1+1\"");
    }
}
