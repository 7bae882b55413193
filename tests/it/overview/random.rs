//! Small random data sets, with everything that is easy to get wrong in them.

use std::fmt::Write;

use base::owner::{OrgId, UserId};
use service::evaluation::overview::group_of;
use storage::db::{Subject, SubjectHash};

use crate::support::{NOW, TestApp};

pub const DAY: i64 = 86_400;

/// Numbers that repeat from run to run.
pub struct Dice(pub u64);

impl Dice {
    pub fn below(&mut self, n: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % n
    }

    pub fn flag(&mut self) -> bool {
        self.below(2) == 0
    }

    pub fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())].clone()
    }
}

#[derive(Clone, Debug)]
pub struct Verdict {
    pub version: &'static str,
    pub name: &'static str,
    pub success: bool,
    pub failure: &'static str,
    pub corrections: i64,
    pub turns: Option<i64>,
    pub escalated: bool,
    pub evaluated_at: i64,
    /// Chance that the session had to be judged, of 10,000.
    pub chance: i64,
}

#[derive(Clone, Debug)]
pub struct Turn {
    pub id: i64,
    pub at: i64,
    pub version: &'static str,
    pub rubric: &'static str,
    pub service_first: bool,
    pub better: &'static str,
    pub much: bool,
    pub consistent: Option<bool>,
}

#[derive(Clone, Debug)]
pub struct Session {
    pub user: String,
    pub id: String,
    pub at: i64,
    pub source: &'static str,
    pub version: &'static str,
    pub verdicts: Vec<Verdict>,
    /// (kind, id, title), each once.
    pub cited: Vec<(&'static str, String, String)>,
    pub turns: Vec<Turn>,
    /// (scorer, value, time).
    pub scores: Vec<(&'static str, f64, i64)>,
}

#[derive(Clone, Debug)]
pub struct Data {
    pub org: String,
    /// Of the installation that the data set is stored in.
    pub subjects: SubjectHash,
    pub from: i64,
    pub to: i64,
    pub bucket: &'static str,
    pub shadow: bool,
    pub sets: Vec<(String, Vec<&'static str>)>,
    /// The only version of the agent that is asked for.
    pub version: Option<&'static str>,
    pub sessions: Vec<Session>,
}

impl Data {
    /// True if the version is asked for.
    pub fn has(&self, version: &str) -> bool {
        self.version.is_none_or(|only| only == version)
    }

    /// The group of a session's user.
    pub fn group_of(&self, session: &Session) -> i64 {
        group_of(&OrgId::from(self.org.as_str()), &UserId::from(session.user.as_str()))
    }

    /// The subject of a session's user.
    pub fn subject_of(&self, session: &Session) -> Subject {
        self.subjects.subject(&self.org.as_str().into(), &session.user.as_str().into())
    }

    /// The verdict of success by which a session is counted.
    pub fn verdict_on<'a>(&self, session: &'a Session) -> Option<&'a Verdict> {
        newest_of(session, |v| self.has(v.version))
    }
}

/// `*` cannot be published, but a set may ask for it.
const SOURCES: [&str; 5] = ["", "*", "app", "tel", "web"];

pub fn data(number: u64, org: String, subjects: SubjectHash) -> Data {
    let dice = &mut Dice(number.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    // The end of February 2024 and of 2025, a new year, a Monday, today.
    let anchors = [1_709_164_800, 1_740_787_200, 1_735_689_600, 1_768_176_000, NOW];
    let to = dice.pick(&anchors) + dice.pick(&[0, 0, -1, 1, 3599, 3600, 43_210, DAY - 1]);
    let length = dice.pick(&[0, 1, 3600, DAY, 3 * DAY, 7 * DAY, 7 * DAY + 1, 14 * DAY, 40 * DAY]);
    let from = to - length - dice.pick(&[0, 0, 1, 777]);
    let from = if dice.below(4) == 0 { from - from % DAY } else { from };
    let mut sets = Vec::new();
    let mut left = SOURCES.to_vec();
    for label in 0..dice.below(4) {
        let count = 1 + dice.below(2);
        let some: Vec<_> =
            (0..count.min(left.len())).map(|_| left.remove(dice.below(left.len()))).collect();
        if !some.is_empty() {
            sets.push((format!("set {label}"), some));
        }
    }
    let mut data = Data {
        org,
        subjects,
        from,
        to,
        bucket: dice.pick(&["day", "week"]),
        shadow: dice.below(5) > 0,
        sets,
        version: dice.pick(&[None, Some("v1"), Some("v2"), Some("v3")]),
        sessions: Vec::new(),
    };
    // Boundary seconds of every window, hour, day and week.
    let edges = [
        from,
        to,
        to - 7 * DAY,
        to - 14 * DAY,
        from - 7 * DAY,
        to - to % 3600,
        to - to % DAY,
        from - from % DAY + DAY,
    ];
    for n in 0..dice.pick(&[3, 14, 40]) {
        let at = match dice.below(3) {
            0 => dice.pick(&edges) + dice.pick(&[-1, 0, 1]),
            1 => from + i64::try_from(dice.below(usize::try_from(to - from + 1).unwrap())).unwrap(),
            _ => to - i64::try_from(dice.below(30 * 86_400)).unwrap(),
        };
        let session = session(dice, n, at.max(0));
        if data.sessions.iter().any(|s| (&s.user, &s.id) == (&session.user, &session.id)) {
            continue;
        }
        data.sessions.push(session);
    }
    data
}

fn session(dice: &mut Dice, n: usize, at: i64) -> Session {
    let mut verdicts = Vec::new();
    for version in ["v1", "v2"] {
        if dice.below(3) > 0 {
            let success = dice.flag();
            verdicts.push(Verdict {
                version,
                name: "agent_success",
                success,
                failure: if success { "" } else { dice.pick(&["system_error", "wrong_answer"]) },
                corrections: dice.pick(&[0, 0, 1, 2, 3, 4, 5, 6, 40]),
                turns: success.then(|| i64::try_from(dice.below(9)).unwrap()),
                escalated: dice.below(4) == 0,
                evaluated_at: at + i64::try_from(dice.below(3)).unwrap(),
                chance: dice.pick(&[10_000, 10_000, 5000, 2500, 1000]),
            });
        }
    }
    if dice.below(4) == 0 {
        let other = Verdict {
            version: "v1",
            name: "polite",
            success: true,
            failure: "",
            corrections: 0,
            turns: None,
            escalated: false,
            evaluated_at: at,
            chance: 10_000,
        };
        verdicts.push(other);
    }
    let mut cited: Vec<(&'static str, String, String)> = Vec::new();
    for _ in 0..dice.below(4) {
        let (kind, id) = (dice.pick(&["profile", "playbook"]), format!("r{}", dice.below(14)));
        if !cited.iter().any(|(k, i, _)| *k == kind && *i == id) {
            cited.push((kind, id.clone(), format!("title {n} of {id}")));
        }
    }
    if !verdicts.iter().any(|v| v.name == "agent_success") {
        cited.clear();
    }
    let mut turns = Vec::new();
    for id in 0..dice.below(4) {
        let better = dice.pick(&["1", "2", "tie"]);
        turns.push(Turn {
            id: i64::try_from(id).unwrap(),
            at: at + i64::try_from(dice.below(90_000)).unwrap(),
            version: dice.pick(&["v1", "v2"]),
            rubric: dice.pick(&["v1", "v1", "v0"]),
            service_first: dice.flag(),
            better,
            much: better != "tie" && dice.flag(),
            consistent: dice.pick(&[None, Some(true), Some(false)]),
        });
    }
    let scores = (0..dice.below(3))
        .map(|_| {
            (
                dice.pick(&["bleu", "csat"]),
                f64::from(u32::try_from(dice.below(100)).unwrap()) / 7.0,
                at + i64::try_from(dice.below(90_000)).unwrap(),
            )
        })
        .collect();
    Session {
        user: format!("u{}", dice.below(4 + 2 * (n % 16))),
        id: format!("s{}", dice.below(5)),
        at,
        source: dice.pick(&SOURCES),
        version: dice.pick(&["v1", "v2"]),
        verdicts,
        cited,
        turns,
        scores,
    }
}

/// The newest verdict of success.
fn newest(session: &Session) -> Option<&Verdict> {
    newest_of(session, |_| true)
}

fn newest_of(session: &Session, which: impl Fn(&Verdict) -> bool) -> Option<&Verdict> {
    let verdicts = session.verdicts.iter().enumerate();
    let verdicts = verdicts.filter(|(_, v)| v.name == "agent_success" && which(v));
    verdicts.max_by_key(|(place, v)| (v.evaluated_at, *place)).map(|(_, v)| v)
}

/// The statements that put a data set into the tables, past all rules but through all triggers.
fn statements(t: &TestApp, data: &Data) -> Vec<String> {
    let mut rows: std::collections::BTreeMap<&str, String> = std::collections::BTreeMap::new();
    let mut add = |table: &'static str, values: String| {
        let text = rows.entry(table).or_default();
        write!(text, "{}({values})", if text.is_empty() { "" } else { ", " }).unwrap();
    };
    let org = &data.org;
    let users: std::collections::BTreeSet<&str> =
        data.sessions.iter().map(|s| s.user.as_str()).collect();
    for user in users {
        add(
            "a subjects (org_id, subject, user_id, state, epoch, created_at)",
            format!("'{org}', {}, '{user}', 'active', 1, 1", t.subject_in(org, user)),
        );
    }
    let mut run = 0;
    for s in &data.sessions {
        let key = format!("'{org}', {}, '{}'", t.subject_in(org, &s.user), s.id);
        add(
            "b sessions (org_id, subject, session_id, epoch, first_request_at, first_request_id, last_request_at, last_received_at, source, agent_version, request_count, interaction_count)",
            format!(
                "{key}, 1, {}, 'r', {}, {}, '{}', '{}', 1, 1",
                s.at, s.at, s.at, s.source, s.version
            ),
        );
        let newest = newest(s);
        for v in &s.verdicts {
            let is_newest = newest.is_some_and(|n| std::ptr::eq(n, v));
            let turns = v.turns.map_or("NULL".to_owned(), |n| n.to_string());
            add(
                "c evaluation_results (org_id, subject, session_id, evaluation_name, agent_version, epoch, is_success, failure_type, failure_reason, number_of_corrections, user_turns_to_resolution, is_escalated, learning_status, created_at, evaluated_at, interaction_count, last_interaction_id, judge, prompt_version, rubric_hash, input_tokens, output_tokens, latency_ms, attempts, flags, source, is_newest, user_group, chance)",
                format!(
                    "{key}, '{}', '{}', 1, {}, '{}', '', {}, {turns}, {}, 'complete', {}, {}, 1, 1, 'openai/gpt-5-mini', 'v1', '', 0, 0, 0, 1, '[]', '{}', {is_newest}, {}, {}",
                    v.name,
                    v.version,
                    v.success,
                    v.failure,
                    v.corrections,
                    v.escalated,
                    s.at,
                    v.evaluated_at,
                    s.source,
                    data.group_of(s),
                    v.chance
                ),
            );
        }
        for (kind, id, title) in &s.cited {
            add(
                "d cited_rules (org_id, subject, session_id, kind, rule_id, epoch, title, source, created_at, is_success)",
                format!(
                    "{key}, '{kind}', '{id}', 1, '{title}', '{}', {}, {}",
                    s.source,
                    s.at,
                    newest.unwrap().success
                ),
            );
        }
        for t in &s.turns {
            let consistent = t.consistent.map_or("NULL".to_owned(), |c| c.to_string());
            add(
                "e shadow_verdicts (org_id, subject, session_id, interaction_id, judge_prompt_version, epoch, agent_version, service_is_request_1, better_request, is_significantly_better, comparison_reason, order_consistent, created_at, judged_at, judge, rubric_hash, input_tokens, output_tokens, latency_ms, attempts)",
                format!(
                    "{key}, {}, '{}', 1, '{}', {}, '{}', {}, '', {consistent}, {}, 1, 'offline', '', 0, 0, 0, 1",
                    t.id, t.rubric, t.version, t.service_first, t.better, t.much, t.at
                ),
            );
        }
        for rubric in ["v0", "v1"] {
            if let Some(preference) = super::brute::preference(s, rubric) {
                add(
                    "f shadow_sessions (org_id, subject, session_id, judge_prompt_version, epoch, source, created_at, regular_vs_shadow, user_group)",
                    format!(
                        "{key}, '{rubric}', 1, '{}', {}, '{preference}', {}",
                        s.source,
                        s.at,
                        data.group_of(s)
                    ),
                );
            }
        }
        for (scorer, value, ts) in &s.scores {
            run += 1;
            add(
                "g imported_scores (org_id, subject, session_id, source_run_id, epoch, scorer_name, value, ts, imported_at)",
                format!("{key}, 'run{run}', 1, '{scorer}', {value:?}, {ts}, 1"),
            );
        }
    }
    rows.into_iter()
        .map(|(table, values)| format!("INSERT INTO {} VALUES {values}", &table[2..]))
        .collect()
}

pub async fn store(t: &TestApp, data: &Data) {
    let statements: Vec<&'static str> =
        statements(t, data).into_iter().map(|s| &*Box::leak(s.into_boxed_str())).collect();
    t.app
        .db
        .write("test.store", statements, |tx, statements| {
            Box::pin(async move {
                for statement in statements {
                    let statement = *statement;
                    storage::run!(tx, statement)?;
                }
                Ok(())
            })
        })
        .await
        .unwrap();
}
