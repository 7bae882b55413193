//! SQL of the tables `sessions`, `requests`, `interactions` and `session_outcomes`, one file per noun.

mod interactions;
mod list;
mod outcomes;
mod publish;
mod requests;
mod sessions;
mod transcript;

pub use interactions::*;
pub use list::*;
pub use outcomes::*;
pub use publish::*;
pub use requests::*;
pub use sessions::*;
pub use transcript::*;
