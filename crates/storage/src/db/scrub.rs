//! Making sure that nothing of deleted rows is left in the files of a SQLite database.
//!
//! `secure_delete` overwrites deleted cells and freed pages, but when pages are split, copies of cells stay behind
//! in the unallocated gap of live pages. [`Sqlite::vacuum`] writes the whole file anew while writers wait.
//! [`Sqlite::zero_gaps`] overwrites the gaps page by page between other people's writes, for files too large to make
//! everybody wait. Both are over when [`Sqlite::empty_log`] has emptied the write-ahead log.
//!
//! A page that was cleaned stays clean of what was deleted before: SQLite copies cells that are in use from page to page,
//! never a gap, and `secure_delete` zeroes pages that become free.

use std::sync::Arc;

use sqlite::{SqliteArgument, SqliteConnection};
use sqlx::FromRow as _;
use tokio::sync::oneshot;

use super::sqlite::{Sqlite, Turn};
use super::{Tx, body, classify};
use crate::error::{Error, Result};

/// Pages overwritten in one transaction.
const PAGES_WRITTEN: usize = 32;
/// Pages looked at in one snapshot. A snapshot that is held for long keeps the write-ahead log from being emptied.
const PAGES_READ: i64 = 256;
/// Pages cleaned by one call of [`Sqlite::zero_gaps`].
const PAGES_CLEANED: i64 = 2_048;
/// In files with fewer pages than this, the first byte tells pages of b-trees (2, 5, 10 or 13) from those of long values
/// and free ones, which begin with a page number of four bytes.
const MOST_PAGES: i64 = 2 << 24;

/// Copies of the log that are made in a row, to have what was written during the one before it as well.
const COPIES: usize = 3;

/// Work of the writer outside of any transaction.
#[derive(Clone, Copy)]
pub(super) enum Alone {
    Vacuum,
    EmptyLog,
}

impl Sqlite {
    /// Bytes in use, free pages left out.
    pub(super) async fn live_bytes(&self) -> Result<u64> {
        let bytes = "SELECT (page_count - freelist_count) * page_size
             FROM pragma_page_count, pragma_freelist_count, pragma_page_size";
        let bytes = self.on_a_reader(move |conn| number(conn, bytes)).await?;
        Ok(u64::try_from(bytes).unwrap_or(0))
    }

    /// Copies the write-ahead log into the file while others write. The writer, which does it otherwise, makes everybody
    /// wait meanwhile; when all is copied, it begins the log anew. The file is synced before that, whoever copies.
    pub(super) async fn copy_log(&self) -> Result<()> {
        self.on_a_reader(|conn| {
            for _ in 0..COPIES {
                let copied = conn.fetch::<(i64, i64, i64)>("PRAGMA wal_checkpoint(PASSIVE)")?;
                if copied.iter().all(|(_, pages, copied)| copied == pages) {
                    break;
                }
            }
            Ok(())
        })
        .await
    }

    /// Writes the file anew. Writes that come meanwhile wait; reads go on.
    pub(super) async fn vacuum(&self) -> Result<()> {
        self.copy_log().await?;
        self.alone(Alone::Vacuum).await.map(drop)
    }

    /// Moves the write-ahead log into the file and empties it; false when a reader still needs it.
    pub(super) async fn empty_log(&self) -> Result<bool> {
        // Shortens the file as well, if it was written anew: half a second for 300 MB, which nobody needs to wait for.
        self.copy_log().await?;
        self.alone(Alone::EmptyLog).await
    }

    async fn alone(&self, what: Alone) -> Result<bool> {
        let (reply, answer) = oneshot::channel();
        let gone = || Error::unavailable("The server is stopping.", 1);
        self.writes.send(Turn::Alone(what, reply)).await.map_err(|_| gone())?;
        answer.await.unwrap_or_else(|_| Err(gone()))
    }

    /// Pages of the file.
    pub(super) async fn page_count(&self) -> Result<i64> {
        self.on_a_reader(|conn| number(conn, "SELECT page_count FROM pragma_page_count")).await
    }

    /// Overwrites what is left in the gaps of live pages from `first` to `last`, for some of them, and gives the page to
    /// go on with; none at the end.
    pub(super) async fn zero_gaps(&self, first: i64, last: i64) -> Result<Option<i64>> {
        if last >= MOST_PAGES {
            return Err(Error::unavailable(
                "The database is too large to be cleaned page by page: stop the server and run VACUUM on its file.",
                3600,
            ));
        }
        let end = (first + PAGES_CLEANED).min(last + 1);
        let mut start = first;
        while start < end {
            let next = (start + PAGES_READ).min(end);
            for pages in self.pages_with_gaps((start..next).collect()).await?.chunks(PAGES_WRITTEN)
            {
                let write = body(pages.to_vec(), |tx, pages| Box::pin(clean(tx, pages)));
                self.write(Arc::new(write)).await?;
            }
            start = next;
        }
        Ok((end <= last).then_some(end))
    }

    /// Those of some pages that have something in their gaps.
    async fn pages_with_gaps(&self, numbers: Vec<i64>) -> Result<Vec<i64>> {
        let asked = serde_json::to_string(&numbers).map_err(|e| Error::Internal(e.to_string()))?;
        self.on_a_reader(move |conn| {
            let mut found = Vec::new();
            let pages = "SELECT p.pgno, p.data
                 FROM json_each($1) AS asked CROSS JOIN sqlite_dbpage p ON p.pgno = asked.value";
            conn.each_row(pages, [SqliteArgument::Text(asked)].into(), &mut |row| {
                let (number, page) = <(i64, Vec<u8>)>::from_row(&row)?;
                if without_gaps(number, &page).is_some() {
                    found.push(number);
                }
                Ok(())
            })?;
            Ok(found)
        })
        .await
    }
}

/// Overwrites the gaps of pages as they are now: they may have changed since they were looked at, and even have become
/// pages of something else.
async fn clean(tx: &mut Tx, numbers: &[i64]) -> Result<()> {
    for number in numbers {
        let page =
            crate::row!(tx, (Vec<u8>,), "SELECT data FROM sqlite_dbpage WHERE pgno = $1", number)?;
        if let Some(clean) = page.and_then(|(page,)| without_gaps(*number, &page)) {
            crate::run!(tx, "UPDATE sqlite_dbpage SET data = $2 WHERE pgno = $1", number, clean)?;
        }
    }
    Ok(())
}

/// The page of a b-tree with its unallocated bytes zeroed; nothing if they are. Layout: <https://sqlite.org/fileformat2.html>.
fn without_gaps(number: i64, page: &[u8]) -> Option<Vec<u8>> {
    let header = if number == 1 { 100 } else { 0 };
    let two = |at: usize| page.get(at..at + 2).map(|b| usize::from(b[0]) << 8 | usize::from(b[1]));
    let pointers = match page.get(header)? {
        2 | 5 => header + 12,
        10 | 13 => header + 8,
        _ => return None,
    };
    let gap = pointers + 2 * two(header + 3)?;
    let content = match two(header + 5)? {
        0 => 65_536,
        content => content,
    };
    let mut unused: Vec<_> = std::iter::once(gap..content).collect();
    let mut block = two(header + 1)?;
    while block != 0 {
        let (next, size) = (two(block)?, two(block + 2)?);
        unused.push(block + 4..block + size.max(4));
        if next != 0 && next <= block {
            return None;
        }
        block = next;
    }
    let mut clean = page.to_vec();
    for range in unused {
        clean.get_mut(range)?.fill(0);
    }
    (clean != page).then_some(clean)
}

pub(super) fn run_alone(conn: &mut SqliteConnection, what: Alone) -> Result<bool> {
    match what {
        Alone::Vacuum => conn.run("VACUUM").map(|()| true).map_err(|e| classify(e.into())),
        Alone::EmptyLog => {
            // Readers are not waited for here: that would keep every writer waiting too.
            conn.run("PRAGMA busy_timeout = 20")?;
            let emptied = conn.fetch::<(i64, i64, i64)>("PRAGMA wal_checkpoint(TRUNCATE)");
            conn.run("PRAGMA busy_timeout = 10000")?;
            match emptied {
                Ok(emptied) => Ok(emptied.iter().all(|(busy, ..)| *busy == 0)),
                Err(error) => match classify(error.into()) {
                    error if error.code() == crate::error::Code::Unavailable => Ok(false),
                    error => Err(error),
                },
            }
        }
    }
}

/// The one number that a statement gives.
fn number(conn: &mut SqliteConnection, sql: &str) -> Result<i64> {
    let found = conn.fetch::<(i64,)>(sql)?;
    Ok(found.first().map_or(0, |(number,)| *number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_and_free_blocks_are_zeroed_and_cells_are_not() {
        let mut page = vec![7u8; 512];
        // A leaf with one cell at 500, and a free block of 16 bytes at 480.
        page[..8].copy_from_slice(&[13, 1, 224, 0, 1, 1, 224, 0]);
        page[8..10].copy_from_slice(&[1, 244]);
        page[480..484].copy_from_slice(&[0, 0, 0, 16]);
        let clean = without_gaps(2, &page).unwrap();
        assert!(clean[10..480].iter().all(|b| *b == 0));
        assert!(clean[484..496].iter().all(|b| *b == 0));
        assert_eq!((&clean[..10], &clean[480..484]), (&page[..10], &page[480..484]));
        assert_eq!(clean[496..], page[496..]);
        assert!(without_gaps(2, &clean).is_none(), "nothing is left to do");
        page[0] = 1;
        assert!(without_gaps(2, &page).is_none(), "not a page of rows");
    }
}
