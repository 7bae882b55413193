//! Making sure that nothing of deleted rows is left in the files of a SQLite database.
//!
//! `secure_delete` overwrites deleted cells and freed pages, but when pages are split, copies of cells stay behind
//! in the unallocated gap of live pages. [`Sqlite::vacuum`] writes the whole file anew while writers wait.
//! [`Sqlite::zero_gaps`] overwrites the gaps page by page between other people's writes, for files too large to make
//! everybody wait. Both are over when [`Sqlite::empty_log`] has emptied the write-ahead log.

use futures_util::TryStreamExt;
use sqlx::sqlite::SqlitePool;
use tokio::sync::oneshot;

use super::sqlite::{Sqlite, Turn};
use super::{Tx, classify};
use crate::error::{Error, Result};

/// Pages overwritten in one transaction.
const PAGES_AT_ONCE: usize = 32;
/// Scans for gaps before giving up on pages that others keep changing.
const SCANS: usize = 8;

/// Work of the writer outside of any transaction.
#[derive(Clone, Copy)]
pub(super) enum Alone {
    Vacuum,
    EmptyLog,
}

impl Sqlite {
    /// Bytes in use, free pages left out.
    pub(super) async fn live_bytes(&self) -> Result<u64> {
        let mut conn = self.readers.acquire().await.map_err(|e| classify(e.into()))?;
        let (bytes,): (i64,) = sqlx::query_as(
            "SELECT (page_count - freelist_count) * page_size
             FROM pragma_page_count, pragma_freelist_count, pragma_page_size",
        )
        .fetch_one(&mut *conn)
        .await?;
        Ok(u64::try_from(bytes).unwrap_or(0))
    }

    /// Writes the file anew. Writes that come meanwhile wait; reads go on.
    pub(super) async fn vacuum(&self) -> Result<()> {
        self.alone(Alone::Vacuum).await.map(drop)
    }

    /// Moves the write-ahead log into the file and empties it; false when a reader still needs it.
    pub(super) async fn empty_log(&self) -> Result<bool> {
        self.alone(Alone::EmptyLog).await
    }

    async fn alone(&self, what: Alone) -> Result<bool> {
        let (reply, answer) = oneshot::channel();
        let gone = || Error::unavailable("The server is stopping.", 1);
        self.writes.send(Turn::Alone(what, reply)).await.map_err(|_| gone())?;
        answer.await.unwrap_or_else(|_| Err(gone()))
    }

    /// Overwrites what is left in the gaps of live pages and gives how many pages had something there.
    pub(super) async fn zero_gaps(&self) -> Result<u64> {
        let (mut zeroed, mut missed) = (0, None);
        for _ in 0..SCANS {
            let (done, left) = self.zero_gaps_once(missed.as_ref()).await?;
            zeroed += done;
            if left.is_empty() {
                return Ok(zeroed);
            }
            missed = Some(left);
        }
        Err(Error::unavailable("Pages of the database change too fast to be cleaned.", 1))
    }

    /// One scan, over all pages or those of `only`; gives the pages that changed between being read and written.
    async fn zero_gaps_once(
        &self,
        only: Option<&std::collections::BTreeSet<i64>>,
    ) -> Result<(u64, std::collections::BTreeSet<i64>)> {
        let mut conn = self.readers.acquire().await.map_err(|e| classify(e.into()))?;
        let mut pages = sqlx::query_as::<_, (i64, Vec<u8>)>(
            "SELECT s.pageno, p.data FROM dbstat s CROSS JOIN sqlite_dbpage p ON p.pgno = s.pageno
             WHERE s.pagetype IN ('leaf', 'internal')",
        )
        .fetch(&mut *conn);
        let (mut found, mut done, mut missed) = (Vec::new(), 0, std::collections::BTreeSet::new());
        while let Some((number, page)) = pages.try_next().await? {
            if only.is_some_and(|only| !only.contains(&number)) {
                continue;
            }
            if let Some(clean) = without_gaps(number, &page) {
                found.push(DirtyPage { number, page, clean });
            }
            if found.len() == PAGES_AT_ONCE {
                done += self.overwrite(std::mem::take(&mut found), &mut missed).await?;
            }
        }
        done += self.overwrite(found, &mut missed).await?;
        Ok((done, missed))
    }

    async fn overwrite(
        &self,
        found: Vec<DirtyPage>,
        missed: &mut std::collections::BTreeSet<i64>,
    ) -> Result<u64> {
        if found.is_empty() {
            return Ok(0);
        }
        let count = found.len() as u64;
        let changed = self.write(found, |tx, found| Box::pin(overwrite(tx, found))).await?;
        let done = count - changed.len() as u64;
        missed.extend(changed);
        Ok(done)
    }
}

struct DirtyPage {
    number: i64,
    page: Vec<u8>,
    clean: Vec<u8>,
}

/// Writes clean pages over those that are still what was read, and gives the numbers of the others: what became
/// of them meanwhile may be no page of rows any more.
async fn overwrite(tx: &mut Tx, found: &[DirtyPage]) -> Result<Vec<i64>> {
    let mut changed = Vec::new();
    for DirtyPage { number, page, clean } in found {
        let now =
            crate::row!(tx, (Vec<u8>,), "SELECT data FROM sqlite_dbpage WHERE pgno = $1", number)?;
        if now.is_none_or(|(now,)| now != *page) {
            changed.push(*number);
            continue;
        }
        crate::run!(tx, "UPDATE sqlite_dbpage SET data = $2 WHERE pgno = $1", number, clean)?;
    }
    Ok(changed)
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

pub(super) async fn run_alone(pool: &SqlitePool, what: Alone) -> Result<bool> {
    let mut conn = pool.acquire().await?;
    match what {
        Alone::Vacuum => {
            sqlx::query("VACUUM").execute(&mut *conn).await.map_err(|e| classify(e.into()))?;
            Ok(true)
        }
        Alone::EmptyLog => {
            // Readers are not waited for here: that would keep every writer waiting too.
            sqlx::query("PRAGMA busy_timeout = 20").execute(&mut *conn).await?;
            let emptied = sqlx::query_as::<_, (i64, i64, i64)>("PRAGMA wal_checkpoint(TRUNCATE)")
                .fetch_one(&mut *conn)
                .await;
            sqlx::query("PRAGMA busy_timeout = 10000").execute(&mut *conn).await?;
            match emptied {
                Ok((busy, ..)) => Ok(busy == 0),
                Err(error) => match classify(error.into()) {
                    error if error.code() == crate::error::Code::Unavailable => Ok(false),
                    error => Err(error),
                },
            }
        }
    }
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
