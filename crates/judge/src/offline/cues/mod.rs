//! The words the rules go by, in the languages they know: English first, then German, French, Spanish, Portuguese,
//! Italian, and a few of Chinese, Japanese, Korean and Russian. Lower case, apostrophes dropped.

mod agent;
pub mod facts;
pub mod orders;
pub mod pasted;
pub mod people;
pub mod speech;
mod tools;
mod user;
mod wishes;
pub mod withdrawal;

pub use agent::*;
pub use tools::*;
pub use user::*;
pub use wishes::*;
