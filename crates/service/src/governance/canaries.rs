//! Canaries: texts that stand nowhere else, planted to see where a person's data goes and whether it is gone.
//!
//! A scan looks for every form in which storage may hold a text. It proves something only with its positive control:
//! the same scan must find the canaries before the erasure.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use aho_corasick::AhoCorasick;
use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;

use base::ids::Ids;

/// Full-text indexes leave out what a word has in common with the word before it, so its end is looked for.
const END: usize = 14;
const READ_AT_ONCE: usize = 1 << 20;

/// A word of 26 letters and digits that nobody has written before.
pub fn new(ids: &Ids) -> String {
    const LETTERS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
    let mut bytes = [0u8; 25];
    ids.fill(&mut bytes);
    let word = bytes.iter().map(|byte| char::from(LETTERS[usize::from(byte % 32)]));
    std::iter::once('q').chain(word).collect()
}

/// Looks for canaries in bytes and files.
pub struct Scanner {
    patterns: AhoCorasick,
    /// Canary of each pattern, by index.
    of: Vec<usize>,
    longest: usize,
}

impl Scanner {
    pub fn new(canaries: &[String]) -> Result<Self, String> {
        let (mut patterns, mut of) = (Vec::new(), Vec::new());
        for (index, canary) in canaries.iter().enumerate() {
            for form in forms(canary) {
                patterns.push(form);
                of.push(index);
            }
        }
        let longest = patterns.iter().map(Vec::len).max().unwrap_or(1);
        let patterns = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .build(&patterns)
            .map_err(|e| e.to_string())?;
        Ok(Scanner { patterns, of, longest })
    }

    /// The canaries that stand in `bytes`, by their place in the list.
    pub fn find(&self, bytes: &[u8]) -> BTreeSet<usize> {
        self.patterns
            .find_overlapping_iter(bytes)
            .map(|found| self.of[found.pattern().as_usize()])
            .collect()
    }

    /// The canaries that stand in a file.
    pub fn find_in_file(&self, path: &Path) -> std::io::Result<BTreeSet<usize>> {
        let mut file = File::open(path)?;
        let (mut found, mut kept) = (BTreeSet::new(), Vec::new());
        let mut buffer = vec![0; READ_AT_ONCE];
        loop {
            let read = file.read(&mut buffer)?;
            if read == 0 {
                return Ok(found);
            }
            kept.extend_from_slice(&buffer[..read]);
            found.extend(self.find(&kept));
            // A canary may begin at the end of one piece and go on in the next.
            let keep = kept.len().min(self.longest);
            kept.drain(..kept.len() - keep);
        }
    }

    /// The canaries that stand in the files of a folder, and those below it.
    pub fn find_in_folder(&self, folder: &Path) -> std::io::Result<BTreeSet<usize>> {
        let (mut found, mut folders) = (BTreeSet::new(), vec![PathBuf::from(folder)]);
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder)? {
                let path = entry?.path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    found.extend(self.find_in_file(&path)?);
                }
            }
        }
        Ok(found)
    }
}

/// Every form in which a canary may be stored: UTF-8 (also inside JSON), UTF-16, hex and base64. Letters of either
/// case are found.
fn forms(canary: &str) -> Vec<Vec<u8>> {
    let start = canary.len().saturating_sub(END);
    let end = &canary.as_bytes()[start..];
    let mut forms = vec![
        end.to_vec(),
        end.iter().flat_map(|byte| [*byte, 0]).collect(),
        end.iter().flat_map(|byte| [0, *byte]).collect(),
        hex::encode(end).into_bytes(),
    ];
    // Base64 of a text depends on its offset; characters that it shares with its neighbours are cut off.
    for shift in 0..3 {
        let shifted = [&b"xxx"[..shift], end].concat();
        let encoded = STANDARD_NO_PAD.encode(shifted);
        let whole = end.len() / 3 * 4 - 4;
        forms.push(encoded.as_bytes()[4..4 + whole.min(encoded.len() - 4)].to_vec());
    }
    forms
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::clock::Clock;

    #[test]
    fn every_form_is_found_and_nothing_else() {
        let ids = Ids::seeded(Clock::manual(0), 3);
        let canaries: Vec<String> = (0..20).map(|_| new(&ids)).collect();
        let scanner = Scanner::new(&canaries).unwrap();
        let one = &canaries[7];
        let wide: Vec<u8> = one.encode_utf16().flat_map(u16::to_le_bytes).collect();
        for text in [
            format!("{{\"x\": \"a {one} b\"}}").into_bytes(),
            one.to_uppercase().into_bytes(),
            one.as_bytes()[5..].to_vec(),
            wide,
            hex::encode(one).into_bytes(),
            STANDARD_NO_PAD.encode(one).into_bytes(),
            STANDARD_NO_PAD.encode(format!("a{one}")).into_bytes(),
            STANDARD_NO_PAD.encode(format!("ab{one}c")).into_bytes(),
        ] {
            assert_eq!(
                scanner.find(&text),
                BTreeSet::from([7]),
                "{:?}",
                String::from_utf8_lossy(&text)
            );
        }
        assert!(scanner.find(&vec![b'q'; 10_000]).is_empty());
        assert!(scanner.find(&one.as_bytes()[..12]).is_empty());
    }

    #[test]
    fn what_lies_across_two_reads_is_found() {
        let ids = Ids::seeded(Clock::manual(0), 3);
        let canary = new(&ids);
        let scanner = Scanner::new(std::slice::from_ref(&canary)).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let mut bytes = vec![b'-'; READ_AT_ONCE - 15];
        bytes.extend_from_slice(canary.as_bytes());
        std::fs::write(folder.path().join("file"), bytes).unwrap();
        assert_eq!(scanner.find_in_folder(folder.path()).unwrap().len(), 1);
    }
}
