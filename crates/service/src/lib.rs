//! Evenhand: sessions of AI agents, judged; what they learned, tested; people, forgotten on request.
//!
//! A map of the code. One request goes `router` → an area's `http.rs` (extract, call, respond) → its rules (decisions;
//! ids and times are made here) → its `sql.rs` inside a named transaction of `db`. Folders use each other one way only;
//! `tests/it/architecture.rs` has the table.
//!
//! | module | owns |
//! |---|---|
//! | [`router`], [`wiring`] | every route; every background job, the schema, opening an installation: the only files that know every area |
//! | [`app`] | `App`: settings, storage, clock, ids, keys, judge; built once, passed everywhere, names no area |
//! | [`config`], [`schema`], [`user_tables`], [`placement`], [`telemetry`], [`spending`] | settings, migrations, tables that hold people's rows, where tables are on Citus, logs and metrics, what judging and learning cost |
//! | [`http`] | input reading, problem bodies, rate limits, the server, the dashboard's files, the API page |
//! | [`credentials`] | bearer tokens, roles, organizations, sign-in (also with a provider), who is calling |
//! | [`organization`] | what an organization sets for itself, versioned |
//! | [`sessions`] | rows and reads of sessions, requests, turns, outcomes |
//! | [`experiments`] | holdout experiments on retrieval: lifecycle, arms, exposure, attribution, analysis |
//! | [`learnings`] | profiles, user playbooks, agent playbooks: store and search |
//! | [`judging`] | talking to a judge: consent, context, origin, failure |
//! | [`evaluation`] | verdicts on sessions and learnings, regeneration, review, shadow comparisons, the overview, exports, imported scores |
//! | [`learning_loop`] | extraction, aggregation, tuning; masking at an erasure |
//! | [`intake`] | publishes, ends, outcomes, deletes, and the work that follows from them |
//! | [`webhooks`] | events told to other programs, to a chat, and to people by e-mail |
//! | [`alerts`] | rules that watch a metric and say when it got worse |
//! | [`questions`] | questions that an agent left for the people who run it |
//! | [`governance`] | export, erasure, retention, proof |
//! | [`operations`] | health, the queue at a glance, and how both were |
//! | [`mcp`] | the same interface as tools of the Model Context Protocol |

pub mod alerts;
pub mod app;
pub mod config;
pub mod credentials;
pub mod evaluation;
pub mod experiments;
pub mod governance;
pub mod http;
pub mod intake;
pub mod judging;
pub mod learning_loop;
pub mod learnings;
pub mod mcp;
pub mod operations;
pub mod organization;
pub mod placement;
pub mod questions;
pub mod router;
pub mod schema;
pub mod sessions;
pub mod spending;
pub mod telemetry;
pub mod user_tables;
pub mod webhooks;
pub mod wiring;
