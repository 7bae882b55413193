//! Writes the vocabulary as three files that the library includes: the bytes of all tokens one after the other, the end of
//! each token in them, and a hash table of token numbers.
#![allow(clippy::expect_used, clippy::unwrap_used)] // a build that fails says where

use std::path::Path;
use std::{env, fs};

#[path = "src/table.rs"]
mod table;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=src/table.rs");
    let vocabulary = &bpe_openai::cl100k_base().bpe;
    let (mut text, mut ends) = (Vec::new(), Vec::new());
    // Number zero is an empty slot.
    let mut slots = vec![0_u32; table::SLOTS];
    for token in 0..u32::try_from(vocabulary.num_tokens()).unwrap() {
        let bytes = vocabulary.token_bytes(token);
        text.extend_from_slice(bytes);
        ends.extend(u32::try_from(text.len()).unwrap().to_le_bytes());
        let mut slot = table::first_slot(bytes);
        while slots[slot] != 0 {
            slot = (slot + 1) % table::SLOTS;
        }
        slots[slot] = token + 1;
    }
    let folder = env::var("OUT_DIR").expect("cargo says where");
    let slots: Vec<u8> = slots.into_iter().flat_map(u32::to_le_bytes).collect();
    for (name, bytes) in [("text", text), ("ends", ends), ("slots", slots)] {
        fs::write(Path::new(&folder).join(name), bytes).expect("the output folder is writable");
    }
}
