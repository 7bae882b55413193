//! The erasure as a state machine, searched whole: two requests, two workers, a publisher, a late retry, a judge in
//! flight, a crash anywhere. Each design that was decided against is a variant that the search must catch.

use std::collections::BTreeSet;

use stateright::{Checker, Model, Property};

/// Design faults that the search must catch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Broken {
    Nothing,
    BarrierCheckedBeforeTheTransaction,
    ResultsWithoutEpoch,
    BarrierOpenedBeforeTheAuditEvent,
    FailureOpensTheBarrier,
    RepeatDeletesAgain,
    WorkerWithoutToken,
    IndexOutsideTheDeletes,
    LateRetryAccepted,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Row {
    Turn,
    IndexEntry,
    Verdict,
    /// Dated before the erasure.
    FromThePast,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Status {
    None,
    Unfinished,
    Complete,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Step {
    Delete,
    /// The variant that opens the barrier in a transaction of its own.
    Open,
    Finish,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Worker {
    request: usize,
    token: u8,
    step: Step,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    /// `erasing`: nothing is written. Otherwise open (the policy is `fenced`).
    closed: bool,
    epoch: u8,
    rows: BTreeSet<(u8, Row)>,
    status: [Status; 2],
    /// The epoch that each erasure began.
    begun: [u8; 2],
    token: [u8; 2],
    leased: [bool; 2],
    audited: [u8; 2],
    workers: [Option<Worker>; 2],
    /// A publisher that has looked at the barrier, with the epoch it saw.
    looked: Option<u8>,
    judging: Option<u8>,
    /// A publish after the last erasure began was acknowledged.
    acknowledged: bool,
    crashes: u8,
    publishes: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    Publish,
    Look,
    WriteAfterLooking,
    RetryLate,
    JudgeBegins,
    JudgeEnds,
    Erase(usize),
    Repeat(usize),
    Take(usize, usize),
    LeaseEnds(usize),
    Go(usize),
    Fail(usize),
    Crash(usize),
}

struct Erasure(Broken);

impl Model for Erasure {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        vec![State {
            closed: false,
            epoch: 1,
            rows: BTreeSet::from([(1, Row::Turn), (1, Row::IndexEntry)]),
            status: [Status::None; 2],
            begun: [0; 2],
            token: [0; 2],
            leased: [false; 2],
            audited: [0; 2],
            workers: [None; 2],
            looked: None,
            judging: None,
            acknowledged: false,
            crashes: 0,
            publishes: 0,
        }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        use Action::*;
        if state.publishes < 2 {
            if self.0 == Broken::BarrierCheckedBeforeTheTransaction {
                actions.push(Look);
            } else {
                actions.push(Publish);
            }
            actions.push(RetryLate);
        }
        actions.extend([WriteAfterLooking, JudgeBegins, JudgeEnds]);
        for n in 0..2 {
            actions.extend([Erase(n), Repeat(n), LeaseEnds(n), Go(n), Fail(n), Crash(n)]);
            actions.extend([Take(n, 0), Take(n, 1)]);
        }
    }

    fn next_state(&self, last: &State, action: Action) -> Option<State> {
        let mut s = last.clone();
        match action {
            Action::Publish => {
                if s.closed {
                    return None;
                }
                s.write(s.epoch);
            }
            Action::Look => {
                if s.closed || s.looked.is_some() {
                    return None;
                }
                s.looked = Some(s.epoch);
            }
            Action::WriteAfterLooking => {
                let epoch = s.looked.take()?;
                s.write(epoch);
            }
            Action::RetryLate => {
                // Sent again by a buffer after an erasure: refused by its date.
                if s.closed || s.epoch == 1 || self.0 != Broken::LateRetryAccepted {
                    return None;
                }
                s.rows.insert((s.epoch, Row::FromThePast));
                s.publishes += 1;
            }
            Action::JudgeBegins => {
                if s.judging.is_some() || s.closed || !s.rows.contains(&(s.epoch, Row::Turn)) {
                    return None;
                }
                s.judging = Some(s.epoch);
            }
            Action::JudgeEnds => {
                let epoch = s.judging.take()?;
                let fits = !s.closed && epoch == s.epoch;
                if fits || self.0 == Broken::ResultsWithoutEpoch {
                    s.rows.insert((epoch, Row::Verdict));
                }
            }
            Action::Erase(n) => {
                if s.status[n] != Status::None {
                    return None;
                }
                s.status[n] = Status::Unfinished;
                s.closed = true;
                s.epoch += 1;
                s.begun[n] = s.epoch;
                s.acknowledged = false;
            }
            Action::Repeat(n) => {
                if s.status[n] != Status::Complete || self.0 != Broken::RepeatDeletesAgain {
                    return None;
                }
                s.rows.clear();
            }
            Action::Take(worker, n) => {
                let older = s.status[1 - n] == Status::Unfinished && s.begun[1 - n] < s.begun[n];
                if s.status[n] != Status::Unfinished || s.leased[n] || older || s.token[n] > 2 {
                    return None;
                }
                if s.workers[worker].is_some() {
                    return None;
                }
                s.leased[n] = true;
                s.token[n] += 1;
                s.workers[worker] =
                    Some(Worker { request: n, token: s.token[n], step: Step::Delete });
            }
            Action::LeaseEnds(n) => {
                if !s.leased[n] {
                    return None;
                }
                s.leased[n] = false;
            }
            Action::Go(w) => self.go(&mut s, w)?,
            Action::Fail(w) => {
                let worker = s.workers[w].take()?;
                if s.token[worker.request] == worker.token {
                    s.leased[worker.request] = false;
                }
                if self.0 == Broken::FailureOpensTheBarrier {
                    s.closed = false;
                }
            }
            Action::Crash(w) => {
                if s.crashes == 1 {
                    return None;
                }
                s.workers[w].take()?;
                s.crashes += 1;
            }
        }
        (s != *last).then_some(s)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("nothing of an older epoch after complete", |_: &Self, s: &State| {
                (0..2).all(|n| {
                    s.status[n] != Status::Complete
                        || s.rows.iter().all(|(epoch, _)| *epoch >= s.begun[n])
                })
            }),
            Property::always("complete exactly with one audit event", |_: &Self, s: &State| {
                (0..2).all(|n| s.audited[n] == u8::from(s.status[n] == Status::Complete))
            }),
            Property::always("unfinished means closed", |_: &Self, s: &State| {
                s.closed || !s.status.contains(&Status::Unfinished)
            }),
            Property::always("an acknowledged publish stays", |_: &Self, s: &State| {
                !s.acknowledged || s.rows.contains(&(s.epoch, Row::Turn))
            }),
            Property::always("the past does not come back", |_: &Self, s: &State| {
                !s.rows.iter().any(|(_, row)| *row == Row::FromThePast)
            }),
            Property::sometimes("both erasures complete", |_: &Self, s: &State| {
                s.status == [Status::Complete; 2]
            }),
        ]
    }
}

impl State {
    fn write(&mut self, epoch: u8) {
        self.rows.extend([(epoch, Row::Turn), (epoch, Row::IndexEntry)]);
        self.acknowledged = epoch == self.epoch;
        self.publishes += 1;
    }
}

impl Erasure {
    fn go(&self, s: &mut State, w: usize) -> Option<()> {
        let worker = s.workers[w]?;
        let n = worker.request;
        let holds = s.token[n] == worker.token && s.status[n] == Status::Unfinished;
        if !holds && self.0 != Broken::WorkerWithoutToken {
            s.workers[w] = None;
            return Some(());
        }
        let before = s.begun[n];
        let next = match worker.step {
            Step::Delete => {
                let keeps_index = self.0 == Broken::IndexOutsideTheDeletes;
                s.rows.retain(|(epoch, row)| {
                    *epoch >= before || keeps_index && *row == Row::IndexEntry
                });
                if self.0 == Broken::BarrierOpenedBeforeTheAuditEvent {
                    Step::Open
                } else {
                    Step::Finish
                }
            }
            Step::Open => {
                s.closed = false;
                Step::Finish
            }
            Step::Finish => {
                // The final empty check looks at what the list knows of.
                let listed = |row: &Row| *row != Row::IndexEntry;
                if s.rows.iter().any(|(epoch, row)| *epoch < before && listed(row)) {
                    s.workers[w] = Some(Worker { step: Step::Delete, ..worker });
                    return Some(());
                }
                s.audited[n] += 1;
                s.status[n] = Status::Complete;
                s.leased[n] = false;
                s.closed = s.status.contains(&Status::Unfinished);
                s.workers[w] = None;
                return Some(());
            }
        };
        s.workers[w] = Some(Worker { step: next, ..worker });
        Some(())
    }
}

#[test]
fn the_design_keeps_its_promises_in_every_order_of_events() {
    let checker = Erasure(Broken::Nothing).checker().threads(2).spawn_bfs().join();
    assert!(checker.unique_state_count() > 1000, "{} states", checker.unique_state_count());
    checker.assert_properties();
}

#[test]
fn every_design_decided_against_is_caught() {
    use Broken::*;
    for (broken, promise) in [
        (BarrierCheckedBeforeTheTransaction, "nothing of an older epoch after complete"),
        (ResultsWithoutEpoch, "nothing of an older epoch after complete"),
        (BarrierOpenedBeforeTheAuditEvent, "unfinished means closed"),
        (FailureOpensTheBarrier, "unfinished means closed"),
        (RepeatDeletesAgain, "an acknowledged publish stays"),
        (WorkerWithoutToken, "complete exactly with one audit event"),
        (IndexOutsideTheDeletes, "nothing of an older epoch after complete"),
        (LateRetryAccepted, "the past does not come back"),
    ] {
        let checker = Erasure(broken).checker().threads(2).spawn_bfs().join();
        assert!(checker.discovery(promise).is_some(), "{broken:?} is not caught");
    }
}
