//! Evenhand: sessions of AI agents, judged; what they learned, tested; people, forgotten on request.
//!
//! A map of the code. One request goes `http` (who, what, is it well-formed) → an area's `http.rs` (extract,
//! call, respond) → its rules (decisions; ids and times are made here) → its `sql.rs` inside a named
//! transaction of `db`.
//!
//! | module | owns |
//! |---|---|
//! | [`app`] | `App`: settings, storage, clock, ids, keys, judge; built once and passed everywhere |
//! | [`config`], [`error`], [`clock`], [`ids`], [`telemetry`], [`faults`], `private_files` | settings, problems, time, randomness, logs and metrics, places where tests make it fail, files for their owner only |
//! | [`db`] | transactions, the two engines, dialect fragments, migrations |
//! | [`http`] | router, credentials check, input reading, problem bodies, health, the API page |
//! | [`credentials`] | bearer tokens, roles, organizations |
//! | [`sessions`] | publish, reads, deletes, outcomes |
//! | [`learnings`] | profiles, user playbooks, agent playbooks, search, embedders; extraction, aggregation, tuning |
//! | [`jobs`] | the lease queue and its runner |
//! | [`judge`] | judges, rubrics, fences, provider limits, prices: a transcript in, a checked verdict out; stores nothing |
//! | [`organization`] | what an organization sets for itself, versioned |
//! | [`evaluation`] | verdicts on sessions and learnings, decisions, grading on demand, regeneration, labels, shadow comparisons, the overview, exports |
//! | [`experiments`] | holdout experiments on retrieval: lifecycle, arms, exposure, attribution, analysis |
//! | [`imported_scores`] | scores that other programs gave to sessions |
//! | [`governance`] | the subject barrier, the list of user-owned tables, references; export, erasure, audit, proof |
//! | [`stats`] | formulas only: no I/O, no clock, no domain types |
//! | [`commands`] | the command line, one file per command |

pub mod app;
pub mod clock;
pub mod commands;
pub mod config;
pub mod credentials;
pub mod db;
pub mod error;
pub mod evaluation;
pub mod experiments;
pub mod faults;
pub mod governance;
pub mod http;
pub mod ids;
pub mod imported_scores;
pub mod jobs;
pub mod judge;
pub mod learnings;
pub mod organization;
mod private_files;
pub mod sessions;
pub mod stats;
pub mod telemetry;
