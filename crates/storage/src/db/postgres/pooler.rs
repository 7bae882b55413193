//! Poolers between this program and PostgreSQL.

use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{ConnectOptions, Connection};

base::vocabulary! {
    /// The pooler in front of PostgreSQL, as this program must know of it.
    pub enum Pooler {
        /// None, or one that gives every client a connection of its own (session mode).
        None = "none",
        /// One that may run each transaction on another connection.
        Transaction = "transaction",
    }
}

pub(super) const REFUSAL: &str = "there is a pooler in transaction mode before PostgreSQL: \
     set database.pooler = \"transaction\", and database.direct_url to reach PostgreSQL without it for LISTEN";

/// True if two open connections turn out to share a server's process, or one of them to change it.
pub(super) async fn is_there(options: &PgConnectOptions) -> sqlx::Result<bool> {
    let (mut one, mut two) = (options.connect().await?, options.connect().await?);
    let mut found = false;
    for _ in 0..3 {
        let before = process(&mut one).await?;
        sqlx::raw_sql("BEGIN").execute(&mut two).await?;
        let other = process(&mut two).await?;
        found |= other == before || process(&mut one).await? != before;
        sqlx::raw_sql("COMMIT").execute(&mut two).await?;
    }
    one.close().await?;
    two.close().await?;
    Ok(found)
}

/// By the simple protocol, which prepares nothing.
async fn process(conn: &mut PgConnection) -> sqlx::Result<i32> {
    use sqlx::Row;
    sqlx::raw_sql("SELECT pg_backend_pid()").fetch_one(conn).await?.try_get(0)
}
