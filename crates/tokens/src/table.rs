// The hash table of the vocabulary: made by the build script, read by the library, which both include this file.

/// Slots of the table; a power of two, more than twice the tokens.
pub const SLOTS: usize = 1 << 18;

/// The slot at which the search for a token begins; it goes on with the slots that follow.
pub fn first_slot(token: &[u8]) -> usize {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in token {
        hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    // The upper half is the better mixed one.
    usize::try_from(hash >> 32).unwrap_or(0) % SLOTS
}
