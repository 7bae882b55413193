//! What the other crates ask for instead of the operating system, so that tests can decide it: the time, randomness,
//! and files that only their owner can read.

pub mod clock;
pub mod ids;
pub mod private_files;
