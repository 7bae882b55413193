//! Transactions: alone or in company, whole or not at all.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use storage::error::{Code, Error};

use crate::support::{TestApp, apply, both_backends};

const ROWS: &str = "SELECT COUNT(*) FROM installation WHERE key LIKE 'row %'";

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

#[apply(both_backends)]
async fn a_write_whose_caller_is_gone_is_finished(t: TestApp) {
    let slow = t.app.db.write("test.slow", (), |tx, ()| {
        Box::pin(async move {
            storage::run!(tx, "INSERT INTO installation (key, value) VALUES ('row slow', '')")?;
            tokio::time::sleep(Duration::from_millis(200)).await;
            Ok(())
        })
    });
    assert!(tokio::time::timeout(Duration::from_millis(50), slow).await.is_err());
    let started = Instant::now();
    while t.number(ROWS).await == 0 {
        assert!(started.elapsed() < Duration::from_secs(5));
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[apply(both_backends)]
async fn a_stop_waits_for_writes_under_way_and_takes_no_more(t: TestApp) {
    let app = t.app.clone();
    let slow = tokio::spawn(async move {
        app.db
            .write("test.slow", (), |tx, ()| {
                Box::pin(async move {
                    tokio::time::sleep(Duration::from_millis(200)).await;
                    storage::run!(
                        tx,
                        "INSERT INTO installation (key, value) VALUES ('row slow', '')"
                    )
                })
            })
            .await
    });
    tokio::time::sleep(Duration::from_millis(50)).await;
    t.app.stop().await;
    slow.await.unwrap().unwrap();
    let refused = t.sql("INSERT INTO installation (key, value) VALUES ('row late', '')").await;
    assert_eq!(refused.unwrap_err().code(), Code::Unavailable);
    assert_eq!(t.replica().await.number(ROWS).await, 1);
}
