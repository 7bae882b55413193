//! Records of a file, one after another, each with its place.

use std::io::{BufRead, ErrorKind};

use serde_json::Value;

use super::{Position, Problem, Unit, Wrong};

/// The longest record; of a longer one nothing is kept.
pub const RECORD_BYTES: usize = 64 << 20;
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// The way in which a file holds its records.
#[derive(Clone, Copy, PartialEq)]
enum Layout {
    /// Not known yet: nothing but white space was read.
    Unknown,
    Lines,
    /// Elements of arrays.
    Array,
    /// Values over several lines, one after another.
    Values,
}

/// Bytes of one record, and how much of it there was.
struct Raw {
    bytes: Vec<u8>,
    position: Position,
    too_long: bool,
}

pub struct Records<R> {
    input: R,
    layout: Layout,
    /// Bytes read.
    read: u64,
    lines: u64,
    elements: u64,
    inside_array: bool,
    ended: bool,
}

impl<R: BufRead> Records<R> {
    pub fn new(input: R) -> Self {
        Records {
            input,
            layout: Layout::Unknown,
            read: 0,
            lines: 0,
            elements: 0,
            inside_array: false,
            ended: false,
        }
    }

    pub fn read(&self) -> u64 {
        self.read
    }

    fn raw(&mut self) -> std::io::Result<Option<Raw>> {
        if self.layout == Layout::Unknown {
            self.begin()?;
        }
        match self.layout {
            Layout::Unknown => Ok(None),
            Layout::Lines => self.line(),
            Layout::Array | Layout::Values => self.element(),
        }
    }

    /// Finds the layout by the first bytes. An object that begins with a line of its own is written over several lines.
    fn begin(&mut self) -> std::io::Result<()> {
        if self.read == 0 {
            for expected in BYTE_ORDER_MARK {
                if self.peek()? != Some(*expected) {
                    break;
                }
                self.skip();
            }
        }
        while let Some(byte) = self.peek()? {
            match byte {
                b'\n' => {
                    self.lines += 1;
                    self.skip();
                }
                byte if byte.is_ascii_whitespace() => self.skip(),
                b'[' => {
                    self.layout = Layout::Array;
                    break;
                }
                b'{' => {
                    let buffer = self.input.fill_buf()?;
                    let after = buffer.iter().skip(1).find(|b| !matches!(b, b' ' | b'\t' | b'\r'));
                    let alone = after == Some(&b'\n');
                    self.layout = if alone { Layout::Values } else { Layout::Lines };
                    break;
                }
                _ => {
                    self.layout = Layout::Lines;
                    break;
                }
            }
        }
        Ok(())
    }

    fn peek(&mut self) -> std::io::Result<Option<u8>> {
        loop {
            match self.input.fill_buf() {
                Ok(buffer) => return Ok(buffer.first().copied()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn skip(&mut self) {
        self.input.consume(1);
        self.read += 1;
    }

    /// The next line that is not empty.
    fn line(&mut self) -> std::io::Result<Option<Raw>> {
        loop {
            let mut raw = self.new_raw(Unit::Line, self.lines + 1);
            if !self.scan(&mut raw, &mut LineScan)? && raw.bytes.is_empty() {
                return Ok(None);
            }
            self.lines += 1;
            if raw.too_long || !raw.bytes.trim_ascii().is_empty() {
                return Ok(Some(raw));
            }
        }
    }

    /// The next element of an array, or the next value.
    fn element(&mut self) -> std::io::Result<Option<Raw>> {
        while let Some(byte) = self.peek()? {
            match byte {
                byte if byte.is_ascii_whitespace() || byte == b',' => self.skip(),
                b'[' if !self.inside_array && self.layout == Layout::Array => {
                    self.inside_array = true;
                    self.skip();
                }
                b']' => {
                    self.inside_array = false;
                    self.skip();
                }
                _ => {
                    self.elements += 1;
                    let mut raw = self.new_raw(Unit::Element, self.elements);
                    self.scan(&mut raw, &mut ValueScan::default())?;
                    return Ok(Some(raw));
                }
            }
        }
        Ok(None)
    }

    fn new_raw(&self, unit: Unit, number: u64) -> Raw {
        let position = Position { unit, number, offset: self.read };
        Raw { bytes: Vec::new(), position, too_long: false }
    }

    /// Reads up to the end that `scan` finds, a buffer at a time; false at the end of the file.
    fn scan(&mut self, raw: &mut Raw, scan: &mut impl Scan) -> std::io::Result<bool> {
        loop {
            let buffer = match self.input.fill_buf() {
                Ok(buffer) => buffer,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if buffer.is_empty() {
                return Ok(false);
            }
            let (taken, ended) = scan.step(buffer);
            if raw.bytes.len() + taken > RECORD_BYTES {
                raw.too_long = true;
                raw.bytes = Vec::new();
            }
            if !raw.too_long {
                raw.bytes.extend_from_slice(&buffer[..taken]);
            }
            self.input.consume(taken);
            self.read += taken as u64;
            if ended {
                return Ok(true);
            }
        }
    }
}

impl<R: BufRead> Iterator for Records<R> {
    type Item = Result<(Position, Value), Problem>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        match self.raw() {
            Ok(Some(raw)) => Some(parsed(&raw)),
            Ok(None) => {
                self.ended = true;
                None
            }
            Err(error) => {
                self.ended = true;
                let (unit, number) = match self.layout {
                    Layout::Unknown | Layout::Lines => (Unit::Line, self.lines + 1),
                    Layout::Array | Layout::Values => (Unit::Element, self.elements.max(1)),
                };
                let position = Position { unit, number, offset: self.read };
                Some(Err(Problem { position, wrong: Wrong::Unreadable(error.kind().to_string()) }))
            }
        }
    }
}

fn parsed(raw: &Raw) -> Result<(Position, Value), Problem> {
    let position = raw.position;
    if raw.too_long {
        return Err(Problem { position, wrong: Wrong::RecordTooLong });
    }
    match serde_json::from_slice(raw.bytes.trim_ascii()) {
        Ok(mut value) => {
            if std::str::from_utf8(&raw.bytes).is_ok_and(|text| text.contains("\\u0000")) {
                remove_nul(&mut value);
            }
            Ok((position, value))
        }
        Err(error) => Err(Problem { position, wrong: Wrong::NotJson(without_place(&error)) }),
    }
}

/// The place inside a record says little beside the place of the record.
fn without_place(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.rfind(" at line ") {
        Some(end) => text[..end].to_owned(),
        None => text,
    }
}

/// The service refuses U+0000 wherever it stands.
fn remove_nul(value: &mut Value) {
    match value {
        Value::String(text) => text.retain(|c| c != '\0'),
        Value::Array(items) => items.iter_mut().for_each(remove_nul),
        Value::Object(map) => map.values_mut().for_each(remove_nul),
        _ => {}
    }
}

/// Finds the end of a record.
trait Scan {
    /// How many bytes of the buffer belong to the record, and whether it ends there.
    fn step(&mut self, buffer: &[u8]) -> (usize, bool);
}

struct LineScan;

impl Scan for LineScan {
    fn step(&mut self, buffer: &[u8]) -> (usize, bool) {
        match buffer.iter().position(|byte| *byte == b'\n') {
            Some(at) => (at + 1, true),
            None => (buffer.len(), false),
        }
    }
}

/// A value ends with the bracket that closes it, or before a comma or a bracket outside of it. Nothing else is checked: a
/// value that is no JSON is told by whoever parses it, and the next one is found all the same.
#[derive(Default)]
struct ValueScan {
    depth: usize,
    in_text: bool,
    escaped: bool,
}

impl Scan for ValueScan {
    fn step(&mut self, buffer: &[u8]) -> (usize, bool) {
        for (at, byte) in buffer.iter().enumerate() {
            if self.in_text {
                match byte {
                    _ if self.escaped => self.escaped = false,
                    b'\\' => self.escaped = true,
                    b'"' => self.in_text = false,
                    _ => {}
                }
                continue;
            }
            match byte {
                b'"' => self.in_text = true,
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' if self.depth > 1 => self.depth -= 1,
                b'}' | b']' if self.depth == 1 => return (at + 1, true),
                b',' | b']' if self.depth == 0 => return (at, true),
                _ => {}
            }
        }
        (buffer.len(), false)
    }
}
