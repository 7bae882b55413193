//! Stand-ins for the operating system that tests can control: the time, randomness,
//! and files that only their owner can read.

pub mod clock;
pub mod ids;
pub mod private_files;
