//! The vocabulary, as the build script wrote it.

use crate::table::{SLOTS, first_slot};

static TEXT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/text"));
static ENDS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/ends"));
static TABLE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/slots"));

/// The number of a token, if these bytes are one. Smaller numbers are joined first.
pub fn token(bytes: &[u8]) -> Option<u32> {
    let mut slot = first_slot(bytes);
    loop {
        let token = number(TABLE, slot).checked_sub(1)?;
        if bytes_of(token) == bytes {
            return Some(token);
        }
        slot = (slot + 1) % SLOTS;
    }
}

fn bytes_of(token: u32) -> &'static [u8] {
    let end = |token: u32| number(ENDS, token as usize) as usize;
    let start = token.checked_sub(1).map_or(0, end);
    &TEXT[start..end(token)]
}

fn number(list: &[u8], place: usize) -> u32 {
    let bytes = list[4 * place..].first_chunk().copied();
    u32::from_le_bytes(bytes.unwrap_or_default())
}
