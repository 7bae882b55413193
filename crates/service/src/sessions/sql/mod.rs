//! SQL of the tables `sessions`, `requests`, `interactions` and `session_outcomes`, one file per noun.

mod interactions;
mod list;
mod outcomes;
mod publish;
mod requests;
mod sessions;
mod transcript;

pub use interactions::*;
pub(crate) use list::session_columns;
pub use list::*;
pub use outcomes::*;
pub use publish::*;
pub use requests::*;
pub use sessions::*;
pub(crate) use transcript::published;
pub use transcript::{Published, find_published};
