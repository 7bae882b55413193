//! Files as such: their layouts, broken places, and memory.

use std::io::{self, BufRead, Read};

use serde_json::json;

use super::*;
use crate::files::{Position, Unit, UnknownFormat, Wrong};

fn turn(n: u64) -> Value {
    json!({"user_id": "ana", "session_id": "s1", "role": "User", "content": format!("turn {n}"), "created_at": n})
}

fn words(items: &[Item]) -> Vec<String> {
    said(items).into_iter().map(|(_, words)| words).collect()
}

#[test]
fn formats_have_words() {
    for format in Format::ALL {
        assert_eq!(format.word().parse(), Ok(format));
    }
    assert_eq!("csv".parse::<Format>(), Err(UnknownFormat("csv".to_owned())));
    assert!(UnknownFormat("csv".to_owned()).to_string().contains("langsmith"));
}

#[test]
fn every_layout_gives_the_same() {
    let records = [turn(1), turn(2), turn(3)];
    let pretty = serde_json::to_string_pretty(&records).unwrap();
    let values: String =
        records.iter().map(|r| serde_json::to_string_pretty(r).unwrap() + "\n").collect();
    let page = |r: &[Value]| json!({"data": r, "meta": {"page": 1}}).to_string();
    for file in [
        lines(&records),
        lines(&records).replace('\n', "\r\n"),
        lines(&records).trim_end().to_owned(),
        lines(&records).replace('\n', "\n\n \r\n"),
        format!("\u{feff}{}", lines(&records)),
        json!(records).to_string(),
        pretty.replace('\n', "\r\n"),
        format!("\u{feff}\n {pretty}\n"),
        values,
        format!("{}\n{}", json!(records[..2]), json!(records[2..])),
        format!("{}\n{}", page(&records[..1]), page(&records[1..])),
    ] {
        let (found, problems) = read_all(Format::Jsonl, &file, &options());
        assert_eq!(problems, [], "{file}");
        assert_eq!(words(&found), ["turn 1", "turn 2", "turn 3"], "{file}");
    }
}

#[test]
fn an_empty_file_gives_nothing() {
    for format in Format::ALL {
        for file in ["", "\n\r\n  \n", "\u{feff}", "[]", " [ ] \n", "\u{feff}[\n]\n"] {
            let (found, problems) = read_all(format, file, &options());
            assert_eq!((found.len(), problems.len()), (0, 0), "{format}: {file:?}");
        }
    }
}

#[test]
fn broken_lines_are_told_and_skipped() {
    let file = format!(
        "{}\n{{\"user_id\": \n\nnull\n{}\r\n\"text\"\n[1, {{\n{}",
        turn(1),
        turn(2),
        turn(3)
    );
    let (found, problems) = read_all(Format::Jsonl, &file, &options());
    assert_eq!(words(&found), ["turn 1", "turn 2", "turn 3"]);
    let numbers: Vec<u64> = problems.iter().map(|problem| problem.position.number).collect();
    assert_eq!(numbers, [2, 4, 6, 7]);
    assert_eq!(problems[0].to_string(), "line 2: not JSON: EOF while parsing a value");
    assert_eq!(problems[1].to_string(), "line 4: not a record of the format jsonl");
    let places: Vec<(u64, u64)> =
        found.iter().map(|item| (item.position.number, item.position.offset)).collect();
    let start = |words: &str| file.find(words).unwrap() as u64;
    let place = |n: u64| start(&turn(n).to_string());
    assert_eq!(places, [(1, 0), (5, place(2)), (8, place(3))]);
    assert_eq!(found[2].read, file.len() as u64);
}

#[test]
fn broken_elements_are_told_and_skipped() {
    let file = format!(
        "[{}, {{\"a\" 1, \"}},]\\\"[\": 2}}, nonsense, {},\n {{\"b\": [}} ], ]\n",
        turn(1),
        turn(2)
    );
    let (found, problems) = read_all(Format::Jsonl, &file, &options());
    assert_eq!(words(&found), ["turn 1", "turn 2"]);
    let numbers: Vec<u64> = problems.iter().map(|problem| problem.position.number).collect();
    assert_eq!(numbers, [2, 3, 5]);
    assert!(problems.iter().all(|problem| problem.position.unit == Unit::Element));
    assert_eq!(found[1].position.number, 4);
    let offset = file.find(&turn(2).to_string()).unwrap() as u64;
    assert_eq!(found[1].position, Position { unit: Unit::Element, number: 4, offset });
    // Cut off in the middle.
    let cut = format!("[{}, {{\"user_id\": \"an", turn(1));
    let (found, problems) = read_all(Format::Jsonl, &cut, &options());
    assert_eq!((found.len(), problems.len(), problems[0].position.number), (1, 1, 2));
}

#[test]
fn every_cut_of_a_file_ends() {
    let whole = json!([turn(1), {"a": ["]", "\"", {}]}, turn(2)]).to_string() + "\n]}],{";
    for end in 0..whole.len() {
        for format in Format::ALL {
            for start in [0, 1] {
                let file = whole.get(start.min(end)..end).unwrap_or_default();
                assert!(read(format, file.as_bytes(), &anybody()).count() < 20);
            }
        }
    }
}

#[test]
fn bytes_that_are_no_text_and_characters_that_nobody_types() {
    let mut file = lines(&[turn(1)]).into_bytes();
    file.extend(b"{\"user_id\": \"\xff\xfe\"}\n");
    file.extend(turn(2).to_string().replace("turn 2", "tu\\u0000rn 2").into_bytes());
    let results: Vec<_> = read(Format::Jsonl, file.as_slice(), &options()).collect();
    assert_eq!(results.len(), 3);
    assert!(matches!(results[1], Err(Problem { wrong: Wrong::NotJson(_), .. })));
    let items: Vec<Item> = results.into_iter().flatten().collect();
    assert_eq!(words(&items), ["turn 1", "turn 2"]);
}

#[test]
fn the_same_record_has_the_same_request_id_and_others_have_another() {
    let record = turn(1);
    let moved = json!({"created_at": 1, "content": "turn 1", "role": "User", "session_id": "s1", "user_id": "ana"});
    let ids = |records: &[Value]| -> Vec<String> {
        let found = items(Format::Jsonl, records);
        found.into_iter().map(|item| item.publication.request_id).collect()
    };
    let first = ids(&[record.clone(), turn(2)]);
    assert_ne!(first[0], first[1]);
    assert_eq!(ids(&[turn(2), moved]), [first[1].clone(), first[0].clone()]);
    assert!(first.iter().all(|id| id.len() <= 255));
    // An id that no request may have.
    let long = json!({"id": "x".repeat(300), "user": "ana", "messages": [{"role": "user", "content": "Hello"}]});
    let (found, problems) =
        read_all(Format::Openai, &lines(std::slice::from_ref(&long)), &options());
    assert_eq!((found.len(), problems[0].wrong.clone()), (0, Wrong::BadId("session_id")));
    let mut named = long;
    named["metadata"] = json!({"session_id": "s1"});
    let found = items(Format::Openai, &[named]);
    assert_eq!(found[0].publication.request_id.len(), "openai-".len() + 64);
}

#[test]
fn the_source_can_be_given() {
    let options = Options { source: Some("shop".to_owned()), ..options() };
    let (found, _) = read_all(Format::Jsonl, &lines(&[turn(1)]), &options);
    assert_eq!(found[0].publication.source, "shop");
}

/// A file that is never whole in memory: `part` is asked for one piece after another.
struct Endless<F> {
    part: F,
    now: Vec<u8>,
    at: usize,
}

impl<F: FnMut() -> Option<String>> Read for Endless<F> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let length = self.fill_buf()?.read(into)?;
        self.consume(length);
        Ok(length)
    }
}

impl<F: FnMut() -> Option<String>> BufRead for Endless<F> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.at == self.now.len() {
            self.now = (self.part)().unwrap_or_default().into_bytes();
            self.at = 0;
        }
        Ok(&self.now[self.at..])
    }

    fn consume(&mut self, length: usize) {
        self.at += length;
    }
}

fn endless(mut parts: impl Iterator<Item = String>) -> Endless<impl FnMut() -> Option<String>> {
    Endless { part: move || parts.next(), now: Vec::new(), at: 0 }
}

#[test]
fn a_long_stream_is_given_as_it_comes() {
    let handed_out = std::cell::Cell::new(0_u64);
    let parts = (0..20_000_u64).map(|n| {
        handed_out.set(n);
        let begin = if n == 0 { "[" } else { "," };
        let end = if n == 19_999 { "]" } else { "" };
        format!("{begin}{}{end}", json!({"user_id": "ana", "session_id": "s1", "content": "x".repeat(200), "created_at": n}))
    });
    let reader = read(Format::Jsonl, endless(parts), &options());
    let mut count = 0;
    for item in reader {
        assert_eq!(item.unwrap().position.number, count + 1);
        // Nothing is read ahead beyond the buffer at hand.
        assert!(handed_out.get() <= count + 1);
        count += 1;
    }
    assert_eq!(count, 20_000);
}

#[test]
fn records_that_wait_are_bounded() {
    let handed_out = std::cell::Cell::new(0_u64);
    let parts = (0..1_000_u64).map(|n| {
        handed_out.set(n);
        let words = "x".repeat(20_000);
        json!({"id": format!("t{n}"), "timestamp": 1716990379 + n, "userId": "ana", "input": words, "output": "y"})
            .to_string()
            + "\n"
    });
    let reader = read(Format::Langfuse, endless(parts), &options());
    let mut count = 0_u64;
    for item in reader {
        item.unwrap();
        // 16 MiB of traces of 20 kB each.
        assert!(handed_out.get() - count <= 850, "{} at {count}", handed_out.get());
        count += 1;
    }
    assert_eq!(count, 1_000);
}

#[test]
fn a_record_without_end_is_told_without_being_kept() {
    let begin = std::iter::once("{\"content\": \"".to_owned());
    let middle = std::iter::repeat_n("x".repeat(1 << 20), 70);
    let end = std::iter::once(format!("\"}}\n{}\n", turn(1)));
    let results: Vec<_> =
        read(Format::Jsonl, endless(begin.chain(middle).chain(end)), &options()).collect();
    assert!(matches!(&results[0], Err(problem) if problem.wrong == Wrong::RecordTooLong));
    assert!(results[1].is_ok());
    assert_eq!(results.len(), 2);
}

struct Failing(bool);

impl Read for Failing {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        Err(io::ErrorKind::ConnectionReset.into())
    }
}

impl BufRead for Failing {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.0 { Err(io::ErrorKind::ConnectionReset.into()) } else { Ok(b"{}\n{") }
    }

    fn consume(&mut self, length: usize) {
        self.0 = length > 0;
    }
}

#[test]
fn a_file_that_cannot_be_read_on_ends_with_a_problem() {
    let results: Vec<_> = read(Format::Jsonl, Failing(false), &options()).collect();
    let last = results.last().unwrap().as_ref().unwrap_err();
    assert!(matches!(last.wrong, Wrong::Unreadable(_)));
    assert_eq!(results.len(), 2);
}
