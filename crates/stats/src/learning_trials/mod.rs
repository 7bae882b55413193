//! Trials of learnings: each playbook is withheld from a small random share of the users for whom it was found.
//!
//! The arms of a playbook are its served and its withheld users, the effect is success with it minus success
//! without. Everything starts from one record per user, arm and epoch ([`TrialUser`]) in whole numbers, so
//! that the same records in any order give the same results to the last digit.
//!
//! An epoch is a time in which neither the text of the playbook nor the share changes. A new epoch draws the
//! arms anew, and a user may be served in one and withheld in the other, so that epochs are computed apart and
//! then pooled ([`Evidence::of`]). Over all playbooks, [`judge_trials`] says which of them help or hurt.

mod epoch;
mod evidence;
mod health;
mod outlook;
mod state;

pub use epoch::{Epoch, EpochPlan, TrialUser};
pub use evidence::{Evidence, TrialEffect};
pub use health::{FoundUsers, sample_ratio};
pub use outlook::{
    NOTICEABLE_EFFECT, POWER, SMALLEST_PLAN, days_until_visible, planned_users,
    smallest_visible_effect,
};
pub use state::{FALSE_DISCOVERY_RATE, JudgedTrial, JudgedTrials, TrialState, judge_trials};
