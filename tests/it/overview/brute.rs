//! The overview straight from its definitions, slow and plain, and its comparison with the fast one.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use service::credentials::Role;
use service::evaluation::overview::fold_all;
use stats::grouped::{
    GroupSums, GroupedChange, grouped_change, grouped_mean, grouped_mean_change, grouped_rate,
};
use stats::reason::{Defined, NullReason};

use super::random::{DAY, Data, Session, Verdict, data, store};
use super::weights::{
    Judged, flag, groups, mean, rate, success_rate, successes, verdict_groups, weighted,
};
use super::{assert_same, wrong_sums};
use crate::support::{Backend, NOW, Server, TestApp, rounds};

type Part<'a> = Box<dyn Fn(&str) -> bool + 'a>;

/// Judged sessions, each with its verdict.
fn verdicts<'a>(
    data: &'a Data,
    part: &Part<'_>,
    from: i64,
    to: i64,
) -> Vec<(&'a Session, &'a Verdict)> {
    let sessions = data.sessions.iter().filter(|s| part(s.source) && s.at >= from && s.at <= to);
    sessions.filter_map(|s| Some((s, data.verdict_on(s)?))).collect()
}

/// Fields of an interval, as the answer has them.
fn interval(ends: Defined<([f64; 2], bool)>) -> Value {
    json!({"ci95": ends.ok().map(|e| e.0), "ci95_null_reason": ends.err(), "few_users": ends.is_ok_and(|e| e.1)})
}

fn rate_interval(sums: &GroupSums, scale: f64) -> Value {
    interval(
        grouped_rate(sums)
            .map(|r| ([r.rate.interval.lower * scale, r.rate.interval.upper * scale], r.few_users)),
    )
}

fn mean_interval(sums: &GroupSums) -> Value {
    interval(
        grouped_mean(sums).map(|m| ([m.interval.lower.max(0.0), m.interval.upper], m.few_users)),
    )
}

fn change_interval(change: Defined<GroupedChange>, scale: f64) -> Value {
    let ends = change.map(|c| [c.interval.lower * scale, c.interval.upper * scale]);
    json!({"delta_ci95": ends.ok(), "delta_ci95_null_reason": ends.err()})
}

/// One object with the fields of all.
fn with(objects: &[Value]) -> Value {
    let fields = objects.iter().flat_map(|o| o.as_object().unwrap().clone());
    Value::Object(fields.collect())
}

/// The interval of a success rate in points, under the names of the whole.
fn in_points(sums: &GroupSums) -> Value {
    let mut fields = rate_interval(sums, 100.0);
    let ends = fields.as_object_mut().unwrap().remove("ci95").unwrap();
    with(&[fields, json!({"ci95_pp": ends})])
}

pub fn preference(session: &Session, rubric: &str) -> Option<&'static str> {
    let turns: Vec<_> = session.turns.iter().filter(|t| t.rubric == rubric).collect();
    let points = turns.iter().map(|t| match (t.better, t.much) {
        ("tie", _) => 0.0,
        (better, much) => {
            let wins = (better == "1") == t.service_first;
            (if wins { 1.0 } else { -1.0 }) * (if much { 2.0 } else { 1.0 })
        }
    });
    let mean = mean(&points.collect::<Vec<_>>())?;
    Some(match mean {
        m if m > 1.0 => "regular_is_better",
        m if m > 0.0 => "regular_is_slightly_better",
        m if m < -1.0 => "shadow_is_better",
        m if m < 0.0 => "shadow_is_slightly_better",
        _ => "tied",
    })
}

/// Monday, or the day itself, by the calendar.
fn bucket_of(at: i64, bucket: &str) -> i64 {
    let day = jiff::Timestamp::from_second(at).unwrap().to_zoned(jiff::tz::TimeZone::UTC).date();
    let back = if bucket == "day" { 0 } else { i64::from(day.weekday().to_monday_zero_offset()) };
    let start = day.checked_sub(jiff::Span::new().days(back)).unwrap();
    start.to_zoned(jiff::tz::TimeZone::UTC).unwrap().timestamp().as_second()
}

fn shares(preferences: &[&str]) -> Option<(f64, f64)> {
    let share = |who: &str| {
        mean(
            &preferences
                .iter()
                .map(|p| {
                    if p.starts_with(who) {
                        1.0
                    } else if *p == "tied" {
                        0.5
                    } else {
                        0.0
                    }
                })
                .collect::<Vec<_>>(),
        )
    };
    share("regular").zip(share("shadow"))
}

fn compared<'a>(data: &'a Data, part: &Part<'_>) -> Vec<(&'a Session, &'static str)> {
    if !data.shadow {
        return Vec::new();
    }
    let sessions =
        data.sessions.iter().filter(|s| part(s.source) && s.at >= data.from && s.at <= data.to);
    let sessions = sessions.filter(|s| data.has(s.version));
    sessions.filter_map(|s| Some((s, preference(s, "v1")?))).collect()
}

fn buckets(data: &Data, part: &Part<'_>) -> Value {
    let all = verdicts(data, part, data.from, data.to);
    let shadow = compared(data, part);
    let starts: BTreeSet<i64> = all
        .iter()
        .map(|(s, _)| s.at)
        .chain(shadow.iter().map(|(s, _)| s.at))
        .map(|at| bucket_of(at, data.bucket))
        .collect();
    let bucket = |ts: i64| {
        let some: Vec<_> = all.iter().filter(|(s, _)| bucket_of(s.at, data.bucket) == ts).collect();
        let preferences: Vec<_> = shadow
            .iter()
            .filter(|(s, _)| bucket_of(s.at, data.bucket) == ts)
            .map(|(_, p)| *p)
            .collect();
        let some: Vec<(&Session, &Verdict)> = some.into_iter().copied().collect();
        let numbers = json!({
            "ts": ts, "regular_rate": success_rate(&some), "shadow_rate": shares(&preferences).map(|s| s.1),
            "regular_n": some.len(), "shadow_n": preferences.len(),
            "avg_corrections": weighted(&some, |v| Some(v.corrections as f64)),
            "escalation_rate": weighted(&some, |v| Some(flag(v.escalated))),
            "judged_share": (!some.is_empty()).then_some(1.0),
        });
        with(&[numbers, rate_interval(&successes(data, &some), 1.0)])
    };
    starts.into_iter().map(bucket).collect()
}

/// (current, previous), both ends included.
fn windows(data: &Data) -> [(i64, i64); 2] {
    let start = data.from.max(data.to - 7 * DAY);
    [(start, data.to), (start - 7 * DAY, start - 1)]
}

fn tiles(data: &Data, part: &Part<'_>) -> Value {
    let [now, before] = windows(data).map(|(from, to)| verdicts(data, part, from, to));
    let eligible = now.iter().filter(|(_, v)| v.failure != "system_error").count();
    let tile = |value: &dyn Fn(&Judged<'_>) -> Option<f64>, scale: f64| {
        let (current, previous) = (value(&now), value(&before));
        (current, current.zip(previous).map(|(a, b)| (a - b) * scale))
    };
    let success = tile(&success_rate, 100.0);
    let of_eligible = |v: &Verdict| (v.failure != "system_error").then(|| flag(v.success));
    let behavior = tile(&|some| weighted(some, of_eligible), 100.0);
    let corrections = tile(&|some| weighted(some, |v| Some(v.corrections as f64)), 1.0);
    let turns = tile(&|some| weighted(some, |v| v.turns.map(|n| n as f64)), 1.0);
    let escalation = tile(&|some| weighted(some, |v| Some(flag(v.escalated))), 100.0);
    let both = |of: &dyn Fn(&Verdict) -> (f64, f64)| {
        [&now, &before].map(|some| verdict_groups(data, some, of))
    };
    let rated = |fields: Value, of: &dyn Fn(&Verdict) -> (f64, f64)| {
        let [now, before] = both(of);
        let change = change_interval(grouped_change(&now, &before), 100.0);
        with(&[fields, rate_interval(&now, 1.0), change])
    };
    let averaged = |fields: Value, of: &dyn Fn(&Verdict) -> (f64, f64)| {
        let [now, before] = both(of);
        with(&[
            fields,
            mean_interval(&now),
            change_interval(grouped_mean_change(&now, &before), 1.0),
        ])
    };
    let share = (!now.is_empty()).then_some(1.0);
    json!({
        "success": rated(json!({"current": success.0, "delta_pp": success.1, "judged_share": share}), &|v| (1.0, flag(v.success))),
        "behavior_success": rated(
            json!({"current": behavior.0, "delta_pp": behavior.1, "eligible_sessions": eligible,
                "judged_share": share,
                "excluded_system_errors": now.iter().filter(|(_, v)| v.failure == "system_error").count()}),
            &|v| (flag(v.failure != "system_error"), flag(v.success)),
        ),
        "corrections": averaged(
            json!({"current": corrections.0, "delta": corrections.1}), &|v| (1.0, v.corrections as f64)),
        "turns": averaged(
            json!({"current": turns.0, "delta": turns.1}),
            &|v| (flag(v.turns.is_some()), v.turns.unwrap_or(0) as f64),
        ),
        "escalation": rated(
            json!({"current": escalation.0, "delta_pp": escalation.1, "judged_share": share}), &|v| (1.0, flag(v.escalated))),
    })
}

fn distribution(data: &Data, part: &Part<'_>) -> Value {
    let [current, baseline] = windows(data).map(|(from, to)| {
        let mut bins = [0; 6];
        for (_, v) in verdicts(data, part, from, to) {
            bins[usize::try_from(v.corrections.min(5)).unwrap()] += 1;
        }
        bins
    });
    json!({"current_bins": current, "baseline_bins": baseline, "labels": ["0", "1", "2", "3", "4", "5+"]})
}

fn judged<'a>(data: &'a Data, part: &Part<'_>) -> Vec<&'a Session> {
    let mut sessions: Vec<_> = data
        .sessions
        .iter()
        .filter(|s| part(s.source) && s.at >= data.from && s.at <= data.to)
        .filter(|s| data.verdict_on(s).is_some())
        .collect();
    sessions.sort_by_key(|s| s.at);
    sessions
}

fn rules(data: &Data, part: &Part<'_>) -> Value {
    let mut cited: BTreeMap<(String, &str), Vec<&Session>> = BTreeMap::new();
    for session in judged(data, part) {
        for (kind, id, _) in &session.cited {
            cited.entry((id.clone(), kind)).or_default().push(session);
        }
    }
    let everywhere: Part<'_> = Box::new(|_| true);
    let all = judged(data, &everywhere);
    let mut rows: Vec<(i64, i64, String, &str, Value)> = Vec::new();
    for ((id, kind), sessions) in cited {
        let successes = sessions.iter().filter(|s| data.verdict_on(s).unwrap().success).count();
        let (n, net) = (sessions.len() as i64, 2 * successes as i64 - sessions.len() as i64);
        let title_of = |s: &&&Session| {
            s.cited.iter().find(|(k, i, _)| *k == kind && *i == id).map(|(.., t)| t.clone())
        };
        let newest_citing = all
            .iter()
            .filter(|s| title_of(s).is_some())
            .max_by_key(|s| (s.at, data.subject_of(s), s.id.clone()))
            .unwrap();
        let mut ids: Vec<_> = sessions.iter().map(|s| s.id.clone()).collect();
        ids.sort();
        rows.push((net, n, id.clone(), kind, json!({
            "rule_id": id, "kind": kind, "title": title_of(&newest_citing), "successes_with": successes,
            "failures_with": sessions.len() - successes, "net_sessions": net, "cited_session_ids": ids,
            "success_rate_ci95": rate_interval(
                &groups(data, &sessions, |s| (s, 1.0, f64::from(u8::from(data.verdict_on(s).unwrap().success)))),
                1.0,
            )["ci95"],
            // Too few users for more; `evidence.rs` has worlds with enough of them.
            "trial": null, "association": {"difference_pp": null, "ci95_pp": null, "shrunken_pp": null, "p_value": null,
                "adjusted_p_value": null, "is_marked": false, "users": null,
                "null_reason": NullReason::TooFewEvents},
        })));
    }
    rows.sort_by_key(|(_, n, id, kind, _)| (-n, id.clone(), *kind));
    rows.into_iter().take(20).map(|row| row.4).collect()
}

fn partner_tiles(data: &Data, part: &Part<'_>) -> Value {
    let scores = |scorer: &str, (from, to): (i64, i64)| -> Vec<f64> {
        let sessions = data.sessions.iter().filter(|s| part(s.source) && data.has(s.version));
        sessions
            .flat_map(|s| s.scores.iter())
            .filter(|(name, _, ts)| *name == scorer && *ts >= from && *ts <= to)
            .map(|(_, value, _)| *value)
            .collect()
    };
    let [current, previous] = windows(data);
    let tile = |scorer: &&str| {
        let now = scores(scorer, current);
        let before = mean(&scores(scorer, previous));
        let mean_now = mean(&now)?;
        Some(
            json!({"scorer_name": scorer, "current": mean_now, "n": now.len(), "delta": before.map(|b| mean_now - b)}),
        )
    };
    ["bleu", "csat"].iter().filter_map(tile).collect()
}

fn trend(data: &Data) -> (Value, usize) {
    let turns: Vec<_> = data
        .sessions
        .iter()
        .flat_map(|s| s.turns.iter())
        .filter(|t| t.rubric == "v1" && t.at >= data.from && t.at <= data.to)
        .filter(|t| data.has(t.version))
        .collect();
    let outcome = |better: &str, first: bool| {
        if better == "tie" {
            0
        } else if (better == "1") == first {
            1
        } else {
            -1
        }
    };
    let count = |some: &[&&super::random::Turn], want: i32| {
        some.iter().filter(|t| outcome(t.better, t.service_first) == want).count()
    };
    let day = |at: i64| {
        jiff::Timestamp::from_second(at)
            .unwrap()
            .to_zoned(jiff::tz::TimeZone::UTC)
            .date()
            .to_string()
    };
    let days: BTreeSet<String> = turns.iter().map(|t| day(t.at)).collect();
    let daily: Vec<Value> = days.into_iter().map(|date| {
        let some: Vec<_> = turns.iter().filter(|t| day(t.at) == date).collect();
        json!({"date": date, "n": some.len(), "wins": count(&some, 1), "losses": count(&some, -1), "ties": count(&some, 0)})
    }).collect();
    let all: Vec<_> = turns.iter().collect();
    let n = all.len();
    let (wins, losses) = (count(&all, 1), count(&all, -1));
    let both: Vec<_> = turns.iter().filter_map(|t| t.consistent).collect();
    let value = json!({"daily": daily, "judge_prompt_version": "v1", "window_total": {
        "n": n, "wins": wins, "losses": losses, "ties": count(&all, 0),
        "win_rate": if n == 0 { 0.0 } else { wins as f64 / n as f64 },
        "net_win": if n == 0 { 0.0 } else { (wins as f64 - losses as f64) / n as f64 },
        "flip_rate": rate(&both, |consistent| !consistent),
    }});
    (value, n)
}

fn ids(sessions: &[&Session]) -> Vec<String> {
    let mut ids: Vec<_> = sessions.iter().map(|s| s.id.clone()).collect();
    ids.sort();
    ids
}

/// Everything but recent_results and judges.
fn expected(data: &Data) -> Value {
    let whole: Part<'_> = Box::new(|_| true);
    let all = verdicts(data, &whole, data.from, data.to);
    let (trend, n) = trend(data);
    let first = data.sessions.iter().filter(|s| data.verdict_on(s).is_some()).map(|s| s.at).min();
    let state = match () {
        () if all.is_empty() => "empty",
        () if !data.shadow || n == 0 => "shadow_off",
        () if n < 500 || first.is_none_or(|at| NOW - at < 14 * DAY) => "early",
        () => "full",
    };
    let everything = Data { version: None, ..data.clone() };
    let in_window = everything.sessions.iter().filter(|s| s.at >= data.from && s.at <= data.to);
    let versions: BTreeSet<&str> = in_window
        .flat_map(|s| s.verdicts.iter())
        .filter(|v| v.name == "agent_success")
        .map(|v| v.version)
        .collect();
    let compared = compared(data, &whole);
    let preferences: Vec<_> = compared.iter().map(|(_, p)| *p).collect();
    let preferred = groups(data, &compared, |(s, p)| {
        let score = if p.starts_with("regular") {
            1.0
        } else if *p == "tied" {
            0.0
        } else {
            -1.0
        };
        (s, 1.0, score)
    });
    let preferred = grouped_mean(&preferred)
        .map(|m| [m.interval.lower.max(-1.0) * 100.0, m.interval.upper * 100.0]);
    let shared = shares(&preferences);
    let comparison = (!data.sets.is_empty()).then(|| {
        let sources: BTreeSet<&str> = all.iter().map(|(s, _)| s.source).collect();
        let of = |source: &str| -> Vec<&Session> { judged(data, &whole).into_iter().filter(|s| s.source == source).collect() };
        let source_sessions: Vec<Value> = sources.iter().map(|source| {
            let mut pairs: Vec<_> = of(source).iter().map(|s| json!({"user_id": s.user, "session_id": s.id})).collect();
            pairs.sort_by_key(Value::to_string);
            json!({"source": source, "session_ids": ids(&of(source)), "sessions": pairs})
        }).collect();
        let sets: Vec<Value> = data.sets.iter().map(|(label, sources)| {
            let part: Part<'_> = Box::new(|source| sources.contains(&source));
            let some = verdicts(data, &part, data.from, data.to);
            with(&[in_points(&successes(data, &some)), json!({
                "label": label, "sources": sources, "session_count": judged(data, &part).len(), "session_ids": ids(&judged(data, &part)),
                "success_rate_pp": success_rate(&some).unwrap_or(0.0) * 100.0, "buckets": buckets(data, &part),
                "context_tiles": tiles(data, &part), "score_distribution": distribution(data, &part),
                "rule_attribution": rules(data, &part), "partner_tiles": partner_tiles(data, &part), "n": some.len(),
                "judged_share": (!some.is_empty()).then_some(1.0), "without_verdict": 0, "only_rules": some.is_empty(),
                "failures_with_evidence": some.iter().filter(|(_, v)| !v.success).count(), "advice": advice(some.is_empty()),
            })])
        }).collect();
        let unmatched = judged(data, &whole).iter().filter(|s| !data.sets.iter().any(|(_, sources)| sources.contains(&s.source))).count();
        json!({"available_sources": sources, "source_sessions": source_sessions, "sets": sets, "unmatched_session_count": unmatched})
    });
    json!({
        "hero": with(&[in_points(&successes(data, &all)), json!({
            "state": state, "regular_success_rate_pp": success_rate(&all).map(|r| r * 100.0),
            "shadow_success_rate_pp": shared.map(|s| s.1 * 100.0), "delta_pp": shared.map(|s| (s.0 - s.1) * 100.0),
            "buckets": buckets(data, &whole), "n": all.len(),
                "judged_share": (!all.is_empty()).then_some(1.0), "without_verdict": 0, "only_rules": all.is_empty(),
                "failures_with_evidence": all.iter().filter(|(_, v)| !v.success).count(), "advice": advice(all.is_empty()),
            "delta_ci95": preferred.ok(), "delta_ci95_null_reason": preferred.err(),
        })]),
        "context_tiles": tiles(data, &whole), "rule_attribution": rules(data, &whole),
        "score_distribution": distribution(data, &whole), "partner_tiles": partner_tiles(data, &whole),
        "shadow_win_rate_trend": if data.shadow { trend } else { Value::Null },
        "source_set_comparison": comparison, "available_agent_versions": versions,
    })
}

/// The server of these tests judges by rules: where nothing was judged, it says how to get a rate.
fn advice(is_empty: bool) -> Option<&'static str> {
    is_empty.then_some(
        "Rules see failures with evidence and little else. For a success rate report outcomes \
    (/api/session_outcome), label at least 50 sessions so that the learned judge can be trained, or set a provider's key \
    or judge.model.",
    )
}

/// Lists of sessions whose order is not promised, in order.
fn in_order(value: &mut Value) {
    match value {
        Value::Object(object) => {
            for (name, inner) in object.iter_mut() {
                if ["session_ids", "cited_session_ids", "sessions"].contains(&name.as_str())
                    && let Value::Array(items) = inner
                {
                    items.sort_by_key(Value::to_string);
                }
                in_order(inner);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(in_order),
        _ => {}
    }
}

async fn compare_all(t: TestApp, count: usize) {
    let count = count as u64;
    let server = t.serve().await;
    let (mut states, mut compared) = (BTreeSet::new(), 0);
    for number in 0..count {
        let drawn = data(number, format!("org{number}"), t.app.subject_keys.subject_hash());
        store(&t, &drawn).await;
        // Sums, and what is not folded into them yet, are the same.
        if number % 2 == 0 {
            fold_all(&t.app).await.unwrap();
        }
        let token = t.key(&drawn.org, Role::Agent).await;
        let server = server.with_token(&token);
        // All versions of the agent, and the one that was drawn.
        for version in BTreeSet::from([None, drawn.version]) {
            let data = Data { version, ..drawn.clone() };
            let hero = compare(&server, &data, number).await;
            states.insert((version.is_some(), hero["state"].as_str().unwrap().to_owned()));
            compared += hero["n"].as_u64().unwrap();
        }
        if number % 500 == 0 {
            assert_eq!(wrong_sums(&t).await, [], "after data set {number}");
        }
    }
    assert_eq!(wrong_sums(&t).await, []);
    assert!(compared > count, "the data sets are not empty");
    for versioned in [false, true] {
        assert!(states.iter().filter(|state| state.0 == versioned).count() >= 3, "{states:?}");
    }
}

/// Compares one overview with its definitions; gives the hero.
async fn compare(server: &Server, data: &Data, number: u64) -> Value {
    let sets: Vec<Value> = data
        .sets
        .iter()
        .map(|(label, sources)| json!({"label": label, "sources": sources}))
        .collect();
    let mut body = json!({"from_ts": data.from, "to_ts": data.to, "bucket": data.bucket, "include_shadow": data.shadow, "source_sets": sets, "agent_version": data.version});
    let mut found = server.post("/api/get_evaluation_overview", &body).await.ok();
    let recent = found.as_object_mut().unwrap().remove("recent_results").unwrap();
    let judges = found.as_object_mut().unwrap().remove("judges").unwrap();
    assert_eq!(found.as_object_mut().unwrap().remove("rules_as_of"), Some(json!(NOW)));
    let judged: u64 =
        judges.as_array().unwrap().iter().map(|judge| judge["n"].as_u64().unwrap()).sum();
    assert_eq!(recent.as_array().unwrap().len() as u64, judged);
    in_order(&mut found);
    let mut wanted = expected(data);
    wanted.sort_all_objects();
    in_order(&mut wanted);
    let about = || format!("data set {number}: {data:#?}");
    assert_same(&found, &wanted, "", &about);
    check_recent(&recent, data, &about);
    if number.is_multiple_of(8) {
        body["include_session_ids"] = json!(false);
        let short = server.post("/api/get_evaluation_overview", &body).await.ok();
        assert_eq!(short["hero"]["n"], found["hero"]["n"]);
        assert!(
            !short.to_string().contains("\"user_id\":\"u")
                || !short["recent_results"].as_array().unwrap().is_empty()
        );
        for row in short["rule_attribution"].as_array().unwrap() {
            assert_eq!(row["cited_session_ids"], json!([]));
        }
        body["include_rules"] = json!(false);
        let without_rules = server.post("/api/get_evaluation_overview", &body).await.ok();
        let mut wanted = short;
        wanted["rule_attribution"] = json!([]);
        let sets = wanted.pointer_mut("/source_set_comparison/sets").and_then(Value::as_array_mut);
        for set in sets.into_iter().flatten() {
            set["rule_attribution"] = json!([]);
        }
        assert_same(&without_rules, &wanted, "", &about);
    }
    found["hero"].take()
}

fn check_recent(recent: &Value, data: &Data, about: &dyn Fn() -> String) {
    let whole: Part<'_> = Box::new(|_| true);
    let mut wanted: Vec<_> = verdicts(data, &whole, data.from, data.to)
        .into_iter()
        .map(|(s, v)| {
            (
                s.at,
                s.user.clone(),
                s.id.clone(),
                v.version.to_owned(),
                v.success,
                preference(s, "v1").map(str::to_owned),
            )
        })
        .collect();
    wanted.sort();
    let text = |row: &Value, name: &str| row[name].as_str().unwrap().to_owned();
    let rows = recent.as_array().unwrap();
    assert!(
        rows.windows(2).all(|two| two[0]["created_at"].as_i64() >= two[1]["created_at"].as_i64())
    );
    let mut found: Vec<_> = rows
        .iter()
        .map(|row| {
            (
                row["created_at"].as_i64().unwrap(),
                text(row, "user_id"),
                text(row, "session_id"),
                text(row, "agent_version"),
                row["is_success"].as_bool().unwrap(),
                row["regular_vs_shadow"].as_str().map(str::to_owned),
            )
        })
        .collect();
    found.sort();
    assert_eq!(found, wanted, "{}", about());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_overview_is_what_its_definitions_say_on_sqlite() {
    compare_all(TestApp::new(Backend::Sqlite).await, rounds(250)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_overview_is_what_its_definitions_say_on_postgres() {
    compare_all(TestApp::new(Backend::Postgres).await, rounds(50)).await;
}
