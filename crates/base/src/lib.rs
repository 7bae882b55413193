//! Basics of every crate: the time and randomness (both controlled by tests), files that only their owner can read,
//! vocabularies, the keys of organizations and users, and the words and addresses of a text.

pub mod addresses;
pub mod clock;
pub mod ids;
pub mod owner;
pub mod private_files;
pub mod vocabulary;
pub mod words;

// For the macro `vocabulary!`.
#[doc(hidden)]
pub use {serde, sqlx_core, utoipa};
