//! The locks that the statements of a migration take on PostgreSQL, for people who plan an upgrade.

/// A statement's lock, in words.
#[derive(Debug, PartialEq, Eq)]
pub struct Lock {
    pub table: String,
    /// PostgreSQL's name of the lock; empty for a table that is made.
    pub mode: &'static str,
    /// Transactions that wait for it.
    pub effect: &'static str,
}

/// The locks of a script, in order. Tables that the script itself makes are nobody's yet.
pub fn of_script(script: &str) -> Vec<Lock> {
    let mut made: Vec<String> = Vec::new();
    let mut locks = Vec::new();
    for statement in statements(script) {
        let Some(lock) = of_statement(&statement) else { continue };
        if lock.mode.is_empty() {
            made.push(lock.table.clone());
        } else if made.contains(&lock.table) {
            continue;
        }
        locks.push(lock);
    }
    locks
}

/// The statements of a script without its comments. Bodies of functions stay whole.
fn statements(script: &str) -> Vec<String> {
    let lines = script.lines().map(|line| line.split("--").next().unwrap_or_default());
    let text = lines.collect::<Vec<_>>().join(" ");
    let (mut found, mut current, mut in_body) = (Vec::new(), String::new(), false);
    for part in text.split_inclusive(';') {
        in_body ^= part.matches("$$").count() % 2 == 1;
        current.push_str(part);
        if !in_body {
            found.push(std::mem::take(&mut current));
        }
    }
    found.retain(|statement| !statement.trim().trim_end_matches(';').is_empty());
    found
}

fn of_statement(statement: &str) -> Option<Lock> {
    let words: Vec<&str> =
        statement.split([' ', '(', ';', '\t']).filter(|w| !w.is_empty()).collect();
    let upper: Vec<String> = words.iter().map(|word| word.to_ascii_uppercase()).collect();
    let upper: Vec<&str> = upper.iter().map(String::as_str).collect();
    let after = |word: &str| {
        let place = upper.iter().position(|w| *w == word)? + 1;
        let skipped = ["IF", "NOT", "EXISTS", "ONLY"];
        let place = place + upper.get(place..)?.iter().take_while(|w| skipped.contains(w)).count();
        words.get(place).map(|table| (*table).to_owned())
    };
    let lock = |table: Option<String>, mode, effect| Some(Lock { table: table?, mode, effect });
    match upper.as_slice() {
        ["CREATE", "TABLE", ..] => lock(after("TABLE"), "", "is new"),
        ["CREATE", "INDEX", "CONCURRENTLY", ..]
        | ["CREATE", "UNIQUE", "INDEX", "CONCURRENTLY", ..] => {
            lock(after("ON"), "SHARE UPDATE EXCLUSIVE", "nobody waits")
        }
        ["CREATE", "INDEX", ..] | ["CREATE", "UNIQUE", "INDEX", ..] => {
            lock(after("ON"), "SHARE", "writers wait while it is built")
        }
        // Storage parameters of a table do not get in the way of rows.
        ["ALTER", "TABLE", _, "SET", rest, ..]
            if !rest.starts_with("SCHEMA") && !rest.starts_with("TABLESPACE") =>
        {
            lock(after("TABLE"), "SHARE UPDATE EXCLUSIVE", "nobody waits")
        }
        ["ALTER", "TABLE", ..] => {
            lock(after("TABLE"), "ACCESS EXCLUSIVE", "readers and writers wait until the commit")
        }
        ["DROP", "TABLE", ..] => {
            lock(after("TABLE"), "ACCESS EXCLUSIVE", "readers and writers wait until the commit")
        }
        ["DROP", "INDEX", ..] => lock(
            after("INDEX").map(|index| format!("the table of {index}")),
            "ACCESS EXCLUSIVE",
            "readers and writers wait until the commit",
        ),
        ["CREATE", "TRIGGER", ..] | ["CREATE", "OR", "REPLACE", "TRIGGER", ..] => {
            lock(after("ON"), "SHARE ROW EXCLUSIVE", "writers wait until the commit")
        }
        ["UPDATE", ..] => lock(after("UPDATE"), "ROW EXCLUSIVE", "writers of the same rows wait"),
        ["DELETE", "FROM", ..] => {
            lock(after("FROM"), "ROW EXCLUSIVE", "writers of the same rows wait")
        }
        ["INSERT", "INTO", ..] => lock(after("INTO"), "ROW EXCLUSIVE", "nobody waits"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_is_read_statement_by_statement() {
        let script = "-- CREATE TABLE nothing\nCREATE TABLE new (a BIGINT);\n\
            CREATE INDEX new_a ON new (a);\n\
            CREATE UNIQUE INDEX CONCURRENTLY j ON jobs (run_at);\n\
            CREATE INDEX k ON jobs (kind);\n\
            ALTER TABLE jobs ADD COLUMN weight BIGINT;\n\
            ALTER TABLE jobs SET (fillfactor = 70);\n\
            CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN UPDATE x SET y = 1; END $$;\n\
            UPDATE ONLY jobs SET weight = 0;";
        let found: Vec<_> = of_script(script).into_iter().map(|l| (l.table, l.mode)).collect();
        let expected = [
            ("new", ""),
            ("jobs", "SHARE UPDATE EXCLUSIVE"),
            ("jobs", "SHARE"),
            ("jobs", "ACCESS EXCLUSIVE"),
            ("jobs", "SHARE UPDATE EXCLUSIVE"),
            ("jobs", "ROW EXCLUSIVE"),
        ];
        assert_eq!(found, expected.map(|(table, mode)| (table.to_owned(), mode)));
    }
}
