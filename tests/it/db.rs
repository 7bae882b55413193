//! Transactions: alone or in company, whole or not at all.

use std::sync::Arc;

use futures_util::future::join_all;
use service::app::App;
use storage::error::{Code, Error};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::support::{TestApp, apply, both_backends, until};

const ROWS: &str = "SELECT COUNT(*) FROM installation WHERE key LIKE 'row %'";

/// Holds a write up inside its transaction.
#[derive(Default)]
struct Gate {
    begun: Notify,
    open: CancellationToken,
}

async fn slow_write(app: Arc<App>, gate: Arc<Gate>) -> storage::error::Result<u64> {
    app.db
        .write("test.slow", gate, |tx, gate| {
            Box::pin(async move {
                gate.begun.notify_one();
                gate.open.cancelled().await;
                storage::run!(tx, "INSERT INTO installation (key, value) VALUES ('row slow', '')")
            })
        })
        .await
}

#[apply(both_backends)]
async fn a_write_that_fails_takes_no_other_with_it(t: TestApp) {
    // Many at once, so that on SQLite they share commits.
    let writes = (0..60i64).map(async |n| {
        let written = t
            .app
            .db
            .write("test.mixed", n, |tx, n| {
                Box::pin(async move {
                    let key = format!("row {n}");
                    storage::run!(
                        tx,
                        "INSERT INTO installation (key, value) VALUES ($1, '')",
                        &key
                    )?;
                    match n % 12 {
                        0 => panic!("as this test wants it"),
                        1 | 7 => Err(Error::Internal("no".to_owned())),
                        3 => storage::run!(
                            tx,
                            "INSERT INTO installation (key, value) VALUES ($1, '')",
                            &key
                        )
                        .map(drop),
                        5 => storage::run!(tx, "this is no SQL").map(drop),
                        _ => Ok(()),
                    }
                })
            })
            .await;
        assert_eq!(written.is_ok(), !matches!(n % 12, 0 | 1 | 3 | 5 | 7), "{n}: {written:?}");
        written.is_ok()
    });
    let kept = join_all(writes).await.into_iter().filter(|kept| *kept).count();
    assert_eq!(kept, 35);
    assert_eq!(t.number(ROWS).await, 35);
    t.sql("INSERT INTO installation (key, value) VALUES ('row after', '')").await.unwrap();
    assert_eq!(t.replica().await.number(ROWS).await, 36);
}

#[apply(both_backends)]
async fn a_read_can_change_nothing(t: TestApp) {
    let read = t
        .app
        .db
        .read("test.read", (), |tx, ()| {
            Box::pin(async move {
                storage::run!(tx, "INSERT INTO installation (key, value) VALUES ('row read', '')")
            })
        })
        .await;
    assert!(read.is_err());
    assert_eq!(t.number(ROWS).await, 0);
}

#[apply(both_backends)]
async fn a_read_sees_one_moment(t: TestApp) {
    let app = t.app.clone();
    let counts = t
        .app
        .db
        .read("test.snapshot", app, |tx, app| {
            Box::pin(async move {
                let (before,) = storage::row!(tx, (i64,), ROWS)?.unwrap();
                app.db
                    .write("test.meanwhile", (), |tx, ()| {
                        Box::pin(async move {
                            storage::run!(
                                tx,
                                "INSERT INTO installation (key, value) VALUES ('row new', '')"
                            )
                        })
                    })
                    .await?;
                let (after,) = storage::row!(tx, (i64,), ROWS)?.unwrap();
                Ok((before, after))
            })
        })
        .await
        .unwrap();
    assert_eq!(counts, (0, 0));
    assert_eq!(t.number(ROWS).await, 1);
}

async fn count_rows(app: &App) -> i64 {
    let counted = app.db.read("test.count", (), |tx, ()| {
        Box::pin(async move {
            let (before,) = storage::row!(tx, (i64,), ROWS)?.unwrap();
            let (after,) = storage::row!(tx, (i64,), ROWS)?.unwrap();
            assert_eq!(before, after);
            Ok(after)
        })
    });
    counted.await.unwrap()
}

#[apply(both_backends)]
async fn more_ask_at_once_than_there_are_connections(t: TestApp) {
    let asked = (0..200i64).map(async |n| match n % 4 {
        0 => drop(count_rows(&t.app).await),
        1 => {
            let write = t.app.db.write("test.row", n, |tx, n| {
                Box::pin(async move {
                    let key = format!("row {n}");
                    let sql = "INSERT INTO installation (key, value) VALUES ($1, '')";
                    storage::run!(tx, sql, &key)
                })
            });
            assert_eq!(write.await.unwrap(), 1);
        }
        _ => {
            let lookup = t.app.db.lookup("test.lookup", (), |tx, ()| {
                Box::pin(async move { storage::row!(tx, (i64,), ROWS) })
            });
            assert!(lookup.await.unwrap().is_some());
        }
    });
    let all = tokio::time::timeout(std::time::Duration::from_secs(30), join_all(asked));
    assert!(all.await.is_ok(), "somebody waits for ever");
    assert_eq!(count_rows(&t.app).await, 50);
}

#[apply(both_backends)]
async fn reads_whose_callers_are_gone_leave_no_snapshot_behind(t: TestApp) {
    for microseconds in (0..3000).step_by(30) {
        let patience = std::time::Duration::from_micros(microseconds);
        let _ = tokio::time::timeout(patience, count_rows(&t.app)).await;
    }
    t.sql("INSERT INTO installation (key, value) VALUES ('row new', '')").await.unwrap();
    // As many as there are connections, so that each of them is asked.
    for _ in 0..4 {
        let counted = join_all((0..16).map(|_| count_rows(&t.app))).await;
        assert_eq!(counted, [1; 16]);
    }
}

#[apply(both_backends)]
async fn a_write_whose_caller_is_gone_is_finished(t: TestApp) {
    let gate = Arc::new(Gate::default());
    let slow = slow_write(t.app.clone(), gate.clone());
    tokio::select! {
        ended = slow => panic!("it waits at the gate: {ended:?}"),
        () = gate.begun.notified() => {}
    }
    gate.open.cancel();
    until("the write is stored", async || t.number(ROWS).await == 1).await;
}

#[apply(both_backends)]
async fn a_stop_waits_for_writes_under_way_and_takes_no_more(t: TestApp) {
    let gate = Arc::new(Gate::default());
    let slow = tokio::spawn(slow_write(t.app.clone(), gate.clone()));
    gate.begun.notified().await;
    let open_when_stopping = async {
        t.app.stopping.cancelled().await;
        gate.open.cancel();
    };
    tokio::join!(t.app.stop(), open_when_stopping);
    slow.await.unwrap().unwrap();
    let refused = t.sql("INSERT INTO installation (key, value) VALUES ('row late', '')").await;
    assert_eq!(refused.unwrap_err().code(), Code::Unavailable);
    assert_eq!(t.replica().await.number(ROWS).await, 1);
}
