//! Places where a test can make the program fail: by an error, or by killing it.
//!
//! Code that must survive anything calls [`Faults::reach`] with the name of the place. Nothing is armed in a release
//! build; a debug build reads `EVENHAND_FAULT=kill:erase.before_final` from its environment.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use crate::error::{Error, Result};

/// Fault points of an erasure, in the order in which it reaches them.
pub const ERASURE: &[&str] = &[
    "erase.before_begin",
    "erase.after_begin",
    "erase.before_deletes",
    "erase.after_masking",
    "erase.amid_deletes",
    "erase.after_deletes",
    "erase.before_index",
    "erase.after_index",
    "erase.before_scrub",
    "erase.after_scrub",
    "erase.before_ledger",
    "erase.after_ledger",
    "erase.before_final",
    "erase.amid_final",
    "erase.after_final",
];

/// In the order in which the learning loop comes by: amid is inside of the transaction.
pub const LEARNING: &[&str] = &[
    "extract.before_save",
    "extract.amid_save",
    "extract.after_save",
    "aggregate.before_save",
    "aggregate.amid_save",
    "aggregate.after_save",
];

/// Fault points of cleaning large files after erasures.
pub const CLEANING: &[&str] = &["scrub.amid_pages"];

/// The effect of an armed place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// An error of storage, so many times.
    Error(u32),
    /// The process is killed as by `kill -9`.
    Kill,
}

#[derive(Default)]
pub struct Faults {
    armed: Mutex<BTreeMap<String, Fault>>,
}

impl Faults {
    /// The faults that the environment of a debug build asks for.
    pub fn from_environment() -> Self {
        let faults = Faults::default();
        if cfg!(debug_assertions)
            && let Ok(text) = std::env::var("EVENHAND_FAULT")
            && let Some(place) = text.strip_prefix("kill:")
        {
            faults.arm(place, Fault::Kill);
        }
        faults
    }

    pub fn arm(&self, place: &str, fault: Fault) {
        self.armed().insert(place.to_owned(), fault);
    }

    /// Passes, unless a test armed the place.
    pub fn reach(&self, place: &'static str) -> Result<()> {
        let is_known = [ERASURE, LEARNING, CLEANING].iter().any(|list| list.contains(&place));
        debug_assert!(is_known, "{place} is in no list");
        let fault = {
            let mut armed = self.armed();
            let fault = armed.get(place).copied();
            match fault {
                Some(Fault::Error(times)) if times > 1 => {
                    armed.insert(place.to_owned(), Fault::Error(times - 1));
                }
                Some(_) => {
                    armed.remove(place);
                }
                None => {}
            }
            fault
        };
        match fault {
            None => Ok(()),
            Some(Fault::Error(_)) => Err(Error::Internal(format!("a fault at {place}"))),
            Some(Fault::Kill) => {
                let id = std::process::id().to_string();
                let _ = std::process::Command::new("kill").args(["-KILL", &id]).status();
                Err(Error::Internal("killed".to_owned()))
            }
        }
    }

    fn armed(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, Fault>> {
        self.armed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
