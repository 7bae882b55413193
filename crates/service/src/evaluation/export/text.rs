//! Exports as lines of text.

use serde_json::{Map, Value};

use super::Form;
use crate::evaluation::EvaluationResult;
use crate::evaluation::verdict::Cell;
use storage::error::{Error, Result};

/// RFC 4180, with a header. Null is empty; text that a spreadsheet would take for a formula gets a quote in front.
pub struct Csv;

impl Form for Csv {
    fn head(&mut self) -> Result<Vec<u8>> {
        let blank = EvaluationResult::default();
        written(|csv| csv.write_record(blank.exported().iter().map(|(name, _)| *name)))
    }

    fn page(&mut self, verdicts: &[EvaluationResult]) -> Result<Vec<u8>> {
        written(|csv| {
            verdicts.iter().try_for_each(|verdict| {
                csv.write_record(verdict.exported().map(|(_, cell)| field(&cell)))
            })
        })
    }

    fn foot(&mut self) -> Result<Vec<u8>> {
        Ok(Vec::new())
    }
}

fn written(write: impl FnOnce(&mut csv::Writer<Vec<u8>>) -> csv::Result<()>) -> Result<Vec<u8>> {
    let mut lines =
        csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(Vec::new());
    write(&mut lines).map_err(|e| Error::Internal(e.to_string()))?;
    lines.into_inner().map_err(|e| Error::Internal(e.to_string()))
}

fn field(cell: &Cell<'_>) -> String {
    match cell {
        Cell::Text(text) => guarded(text.unwrap_or_default()),
        Cell::Integer(number) => number.map(|number| number.to_string()).unwrap_or_default(),
        Cell::Number(number) => number.map(|number| number.to_string()).unwrap_or_default(),
        Cell::Flag(flag) => flag.to_string(),
        Cell::Words(_) => cell.joined(),
    }
}

/// Text that no spreadsheet takes for a formula.
fn guarded(text: &str) -> String {
    let is_formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    format!("{}{text}", if is_formula { "'" } else { "" })
}

/// One JSON object a line.
pub struct Ndjson;

impl Form for Ndjson {
    fn head(&mut self) -> Result<Vec<u8>> {
        Ok(Vec::new())
    }

    fn page(&mut self, verdicts: &[EvaluationResult]) -> Result<Vec<u8>> {
        let mut bytes = Vec::with_capacity(verdicts.len() * 600);
        for verdict in verdicts {
            let value = |cell: Cell<'_>| match cell {
                Cell::Text(text) => Value::from(text),
                Cell::Integer(number) => Value::from(number),
                Cell::Number(number) => Value::from(number),
                Cell::Flag(flag) => Value::from(flag),
                Cell::Words(words) => words.iter().map(|word| word.as_str()).collect(),
            };
            let line: Map<String, Value> = verdict
                .exported()
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
    fn text_is_quoted_and_guarded_where_it_must_be() {
        let line = |text: &str| {
            let bytes = written(|csv| {
                csv.write_record([field(&Cell::Text(Some(text))), field(&Cell::Number(None))])
            });
            String::from_utf8(bytes.unwrap()).unwrap()
        };
        assert_eq!(line("plain"), "plain,\r\n");
        assert_eq!(line("a,\"b\""), "\"a,\"\"b\"\"\",\r\n");
        assert_eq!(line("=1+1"), "'=1+1,\r\n");
    }
}
