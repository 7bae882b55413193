//! Looking over the judge's shoulder: one session with its verdicts, people's labels, agreement, the judge's health.

pub mod agreement;
pub mod estimate;
pub mod http;
pub mod judge_health;
pub mod labels;
pub mod queue;
pub mod session_view;

pub use agreement::{Agreement, AgreementQuery, agreement};
pub use labels::{NewLabel, label};
