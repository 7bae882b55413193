//! Requests and turns in one table each, or in one for each month: what it costs those who publish, read and delete.
//!
//! The product's own columns, the wall and the marks of experiments, in a schema for each form. The statements are the
//! product's, as it prepares them: they know a person and a session, and no month.

#![allow(clippy::disallowed_types)] // statements for each form

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use sqlx::{AssertSqlSafe, Connection, PgConnection, Postgres};

use super::{MONTH, execute};

const PEOPLE: i64 = 20_000;
const BEGINS: i64 = 1_700_000_000;

/// The statements of an operation, by what it is. `$1` is a person, `$2` a session.
const OPERATIONS: [(&str, &[&str]); 7] = [
    (
        "publish",
        &[
            "SELECT epoch FROM subjects WHERE org_id = 'default' AND subject = md5($1)::uuid FOR SHARE",
            "{find}",
            "{keep}",
            "INSERT INTO interactions (org_id, subject, session_id, epoch, request_id, created_at, role, content,
                shadow_content, expert_content, user_action, user_action_description, interacted_image_url,
                image_encoding, tools_used, citations, retrieved_learnings, token_count)
             SELECT 'default', md5($1)::uuid, $2, 1, $2, {newest} + i, 'User',
                'Where is my order? It should have been here on Tuesday, and nobody answers the phone.',
                '', '', 'none', '', '', '', '[]', '[]', '[]', 20 FROM generate_series(1, 3) i",
            "INSERT INTO requests (org_id, subject, session_id, request_id, epoch, created_at, received_at, source,
                agent_version, evaluation_only, content_sha256, answer)
             VALUES ('default', md5($1)::uuid, $2, $2, 1, {newest}, {newest}, 'web', 'v1', FALSE, repeat('ab', 32), '{}')",
            "INSERT INTO sessions (org_id, subject, session_id, epoch, first_request_at, first_request_id,
                last_request_at, last_received_at, source, agent_version, request_count, interaction_count)
             VALUES ('default', md5($1)::uuid, $2, 1, {newest}, $2, {newest}, {newest}, 'web', 'v1', 1, 3)",
        ],
    ),
    (
        "turns of a session",
        &["SELECT interaction_id FROM interactions i JOIN subjects u USING (org_id, subject)
           WHERE i.org_id = 'default' AND i.subject = md5($1)::uuid AND i.session_id = $2
           ORDER BY i.created_at, i.interaction_id"],
    ),
    (
        "state of a session",
        &["SELECT COALESCE(MAX(interaction_id), 0) FROM interactions
           WHERE org_id = 'default' AND subject = md5($1)::uuid AND session_id = $2"],
    ),
    (
        "newest turns of a person",
        &["SELECT interaction_id FROM interactions i JOIN subjects u USING (org_id, subject)
           WHERE i.org_id = 'default' AND i.subject = md5($1)::uuid
           ORDER BY i.created_at DESC, i.interaction_id DESC LIMIT 100"],
    ),
    (
        "turns to learn from",
        &["SELECT COUNT(*) FROM interactions i JOIN requests r ON r.org_id = i.org_id AND r.subject = i.subject
              AND r.session_id = i.session_id AND r.request_id = i.request_id
           WHERE i.org_id = 'default' AND i.subject = md5($1)::uuid AND i.interaction_id > 1990000
             AND r.learning <> 'on'"],
    ),
    // What a table of months could do at best for those who knew the month.
    (
        "turns in ten minutes",
        &["SELECT interaction_id FROM interactions i JOIN subjects u USING (org_id, subject)
           WHERE i.org_id = 'default' AND i.subject = md5($1)::uuid AND i.session_id = $2
             AND i.created_at >= {begins} + LENGTH($1) * 2592000::bigint
             AND i.created_at < {begins} + LENGTH($1) * 2592000::bigint + 600
           ORDER BY i.created_at, i.interaction_id"],
    ),
    (
        "delete a session",
        &[
            "DELETE FROM interactions WHERE org_id = 'default' AND subject = md5($1)::uuid AND session_id = $2",
            "DELETE FROM requests WHERE org_id = 'default' AND subject = md5($1)::uuid AND session_id = $2",
            "DELETE FROM sessions WHERE org_id = 'default' AND subject = md5($1)::uuid AND session_id = $2",
        ],
    ),
];

pub fn compare(url: &str, forms: &[i64], seconds: f64) {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    // The product's schema, whose tables are the model.
    runtime.block_on(async {
        let app = load::place::Place::new(true).open().await;
        app.stop().await;
    });
    for months in forms {
        let begun = Instant::now();
        execute(url, &schema(*months));
        for table in ["subjects", "sessions", "requests", "interactions"] {
            execute(url, &format!("VACUUM ANALYZE form_{months}.{table}"));
        }
        println!(
            "\n{} with 2,000,000 turns of 200,000 sessions: filled in {:.0} s",
            match months {
                0 => "one table".to_owned(),
                _ => format!("{months} months"),
            },
            begun.elapsed().as_secs_f64()
        );
        println!(
            "{:>26} {:>8} {:>11} {:>9} {:>9}",
            "what", "at once", "per second", "p50 ms", "p99 ms"
        );
        for (what, statements) in OPERATIONS {
            for clients in [1, 8] {
                run(url, *months, what, statements, clients, seconds);
            }
        }
        let begun = Instant::now();
        let set = format!("SET search_path = form_{months}, public");
        if *months == 0 {
            let month = BEGINS + MONTH;
            for table in ["interactions", "requests"] {
                execute(url, &format!("{set}; DELETE FROM {table} WHERE created_at < {month}"));
                execute(url, &format!("VACUUM form_0.{table}"));
            }
            println!("a month deleted at once, and vacuum: {:.2} s", begun.elapsed().as_secs_f64());
        } else {
            execute(url, &format!("{set}; DROP TABLE interactions_0, requests_0"));
            println!("a month dropped: {:.2} s", begun.elapsed().as_secs_f64());
        }
        execute(url, &format!("DROP SCHEMA form_{months} CASCADE"));
    }
}

fn schema(months: i64) -> String {
    // Data of as many months as there are, of two years in one table.
    let span = if months == 0 { 24 } else { months } * MONTH;
    let (partitioned, month_key) = match months {
        0 => ("", ""),
        _ => ("PARTITION BY RANGE (created_at)", ", created_at"),
    };
    let mut parts = String::new();
    for month in 0..months {
        let (from, to) = (BEGINS + month * MONTH, BEGINS + (month + 1) * MONTH);
        for table in ["requests", "interactions"] {
            parts.push_str(&format!(
                "CREATE TABLE {table}_{month} PARTITION OF {table} FOR VALUES FROM ({from}) TO ({to});\n"
            ));
        }
    }
    if months > 0 {
        parts.push_str(
            "CREATE TABLE requests_other PARTITION OF requests DEFAULT;
             CREATE TABLE interactions_other PARTITION OF interactions DEFAULT;
             CREATE TABLE request_ids (org_id TEXT NOT NULL, subject UUID NOT NULL, request_id TEXT NOT NULL,
                session_id TEXT NOT NULL, epoch BIGINT NOT NULL, created_at BIGINT NOT NULL,
                PRIMARY KEY (org_id, request_id, subject));\n",
        );
    } else {
        parts.push_str(
            "CREATE UNIQUE INDEX requests_by_id ON requests (org_id, request_id, subject);\n",
        );
    }
    let keep = match months {
        0 => "",
        _ => {
            "INSERT INTO request_ids SELECT org_id, subject, request_id, session_id, epoch, created_at FROM requests;"
        }
    };
    format!(
        "CREATE SCHEMA form_{months};
         SET search_path = form_{months}, public;
         CREATE TABLE subjects (LIKE public.subjects INCLUDING ALL);
         CREATE TABLE sessions (LIKE public.sessions INCLUDING ALL);
         CREATE TABLE experiment_user_sums (LIKE public.experiment_user_sums INCLUDING ALL);
         CREATE TABLE requests (LIKE public.requests INCLUDING DEFAULTS,
            PRIMARY KEY (org_id, subject, session_id, request_id{month_key})) {partitioned};
         CREATE INDEX requests_by_experiment ON requests (org_id, subject, session_id, retrieval_experiment_id)
            WHERE retrieval_experiment_id IS NOT NULL;
         CREATE TABLE interactions (LIKE public.interactions INCLUDING DEFAULTS INCLUDING IDENTITY,
            PRIMARY KEY (org_id, subject, session_id, interaction_id{month_key})) {partitioned};
         CREATE INDEX interactions_arrival ON interactions (org_id, subject, interaction_id);
         {parts}
         CREATE TRIGGER wall BEFORE INSERT OR UPDATE ON sessions FOR EACH ROW EXECUTE FUNCTION subject_wall();
         CREATE TRIGGER wall BEFORE INSERT OR UPDATE ON requests FOR EACH ROW EXECUTE FUNCTION subject_wall();
         CREATE TRIGGER wall BEFORE INSERT OR UPDATE ON interactions FOR EACH ROW EXECUTE FUNCTION subject_wall();
         CREATE TRIGGER stale_in AFTER INSERT ON requests FOR EACH ROW EXECUTE FUNCTION stale_request();
         CREATE TRIGGER stale_out AFTER DELETE ON requests FOR EACH ROW EXECUTE FUNCTION stale_summed();
         CREATE TRIGGER stale_out AFTER DELETE ON interactions FOR EACH ROW EXECUTE FUNCTION stale_summed();
         SET session_replication_role = replica;
         CREATE TEMP TABLE made AS
            SELECT 'u' || u AS u, md5('u' || u)::uuid AS subject, 's' || n AS session_id,
                   {BEGINS} + ((u * 7919::bigint + n * 1361477) % 997) * {span} / 997 AS at
            FROM generate_series(1, {PEOPLE}) u, generate_series(1, 10) n;
         INSERT INTO subjects (org_id, subject, user_id, state, epoch, created_at)
            SELECT DISTINCT 'default', subject, u, 'active', 1, 1 FROM made;
         INSERT INTO sessions (org_id, subject, session_id, epoch, first_request_at, first_request_id, last_request_at,
            last_received_at, source, agent_version, request_count, interaction_count)
            SELECT 'default', subject, session_id, 1, at, session_id || '-0', at + 60, at + 60, 'web', 'v1', 2, 10
            FROM made ORDER BY at;
         INSERT INTO requests (org_id, subject, session_id, request_id, epoch, created_at, received_at, source,
            agent_version, evaluation_only, content_sha256, answer)
            SELECT 'default', subject, session_id, session_id || '-' || r, 1, at + r * 60, at, 'web', 'v1', FALSE,
                   repeat('ab', 32), '{{}}' FROM made, generate_series(0, 1) r ORDER BY at;
         INSERT INTO interactions (org_id, subject, session_id, epoch, request_id, created_at, role, content,
            shadow_content, expert_content, user_action, user_action_description, interacted_image_url,
            image_encoding, tools_used, citations, retrieved_learnings, token_count)
            SELECT 'default', subject, session_id, 1, session_id || '-' || (i % 2), at + (i % 2) * 60, 'User',
                   'Where is order ' || i || '? It should have been here on Tuesday. ' || md5(u || i), '', '', 'none',
                   '', '', '', '[]', '[]', '[]', 20 FROM made, generate_series(0, 9) i ORDER BY at, i;
         {keep}
         RESET session_replication_role"
    )
}

/// One line: `clients` connections do the same for `seconds`, each statement prepared.
fn run(url: &str, months: i64, what: &str, statements: &[&str], clients: usize, seconds: f64) {
    let newest = BEGINS + months.max(24) * MONTH - 7 * 86_400;
    let words = |statement: &&str| {
        let statement = match (*statement, months) {
            ("{find}", 0) => {
                "SELECT session_id, content_sha256 FROM requests
                 WHERE org_id = 'default' AND subject = md5($1)::uuid AND request_id = $2"
            }
            ("{find}", _) => {
                "SELECT session_id, created_at FROM request_ids
                 WHERE org_id = 'default' AND subject = md5($1)::uuid AND request_id = $2"
            }
            ("{keep}", 0) => return String::new(),
            ("{keep}", _) => {
                "INSERT INTO request_ids (org_id, subject, request_id, session_id, epoch, created_at)
                 VALUES ('default', md5($1)::uuid, $2, $2, 1, {newest})"
            }
            (other, _) => other,
        };
        statement.replace("{newest}", &newest.to_string()).replace("{begins}", &BEGINS.to_string())
    };
    let statements: Vec<String> = statements.iter().map(words).filter(|s| !s.is_empty()).collect();
    let (stop, is_publish) = (AtomicBool::new(false), what == "publish");
    let begun = Instant::now();
    let mut latencies: Vec<Duration> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..clients)
            .map(|number| {
                let (stop, statements) = (&stop, &statements);
                scope.spawn(move || work(url, months, statements, is_publish, number, stop))
            })
            .collect();
        std::thread::sleep(Duration::from_secs_f64(seconds));
        stop.store(true, Ordering::Relaxed);
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    let elapsed = begun.elapsed().as_secs_f64();
    latencies.sort_unstable();
    let at = |percent: usize| {
        latencies[(latencies.len() * percent / 100).min(latencies.len() - 1)].as_secs_f64() * 1e3
    };
    println!(
        "{what:>26} {clients:>8} {:>11.0} {:>9.3} {:>9.3}",
        latencies.len() as f64 / elapsed,
        at(50),
        at(99)
    );
}

fn work(
    url: &str,
    months: i64,
    statements: &[String],
    is_publish: bool,
    number: usize,
    stop: &AtomicBool,
) -> Vec<Duration> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut conn = PgConnection::connect(url).await.unwrap();
        let set = format!("SET search_path = form_{months}, public; SET jit = off");
        sqlx::raw_sql(AssertSqlSafe(set)).execute(&mut conn).await.unwrap();
        let mut latencies = Vec::new();
        while !stop.load(Ordering::Relaxed) {
            let person = format!("u{}", rand::random::<u32>() % PEOPLE as u32 + 1);
            let session = match is_publish {
                true => format!("new-{number}-{}", rand::random::<u64>()),
                false => format!("s{}", rand::random::<u32>() % 10 + 1),
            };
            let begun = Instant::now();
            let together = statements.len() > 1;
            if together {
                sqlx::raw_sql("BEGIN").execute(&mut conn).await.unwrap();
            }
            for statement in statements {
                let mut query =
                    sqlx::query::<Postgres>(AssertSqlSafe(statement.clone())).bind(&person);
                if statement.contains("$2") {
                    query = query.bind(&session);
                }
                query.fetch_all(&mut conn).await.unwrap();
            }
            if together {
                sqlx::raw_sql("COMMIT").execute(&mut conn).await.unwrap();
            }
            latencies.push(begun.elapsed());
        }
        latencies
    })
}
