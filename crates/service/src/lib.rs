//! Evenhand: sessions of AI agents, judged; what they learned, tested; people, forgotten on request.
//!
//! A map of the code. One request goes `http` (who, what, is it well-formed) → an area's `http.rs` (extract,
//! call, respond) → its rules (decisions; ids and times are made here) → its `sql.rs` inside a named
//! transaction of `db`.
//!
//! | module | owns |
//! |---|---|
//! | [`app`] | `App`: settings, storage, clock, ids, keys, judge; built once and passed everywhere |
//! | [`config`], [`schema`], [`user_tables`], [`telemetry`] | settings, migrations, tables that hold people's rows, logs and metrics |
//! | [`http`] | router, credentials check, input reading, problem bodies, health, the API page |
//! | [`operations`] | the queue at a glance |
//! | [`credentials`] | bearer tokens, roles, organizations |
//! | [`sessions`] | publish, reads, deletes, outcomes |
//! | [`learnings`] | profiles, user playbooks, agent playbooks, search, embedders; extraction, aggregation, tuning |
//! | [`organization`] | what an organization sets for itself, versioned |
//! | [`evaluation`] | verdicts on sessions and learnings, decisions, grading on demand, regeneration, labels, shadow comparisons, the overview, exports |
//! | [`experiments`] | holdout experiments on retrieval: lifecycle, arms, exposure, attribution, analysis |
//! | [`imported_scores`] | scores that other programs gave to sessions |
//! | [`governance`] | export, erasure, retention, proof |

pub mod app;
pub mod config;
pub mod credentials;
pub mod evaluation;
pub mod experiments;
pub mod governance;
pub mod http;
pub mod imported_scores;
pub mod learnings;
pub mod operations;
pub mod organization;
pub mod schema;
pub mod sessions;
pub mod telemetry;
pub mod user_tables;
