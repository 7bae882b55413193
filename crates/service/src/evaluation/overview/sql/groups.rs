//! Sums by group of users, from which intervals learn how much users differ (`stats::grouped`).

use std::fmt::Write;

use serde::de::{Deserialize, Deserializer, Error, Visitor};
use sha2::{Digest, Sha256};

use base::owner::{OrgId, UserId};
use stats::grouped::{GROUPS, GroupSums};
use storage::db::Tx;
use storage::error::Result;
use storage::subjects::barrier;
use storage::{rows, run};

/// The group of a user: stable, and the same for no two organizations together.
pub fn group_of(org_id: &OrgId, user_id: &UserId) -> i64 {
    let digest = Sha256::new()
        .chain_update((org_id.len() as u64).to_be_bytes())
        .chain_update(org_id.as_bytes())
        .chain_update(user_id.as_bytes())
        .finalize();
    i64::from(digest[0]) % GROUPS as i64
}

/// Puts rows from before groups were kept into theirs. Those of people who are being erased stay as they are: the wall
/// would refuse the change, and they go anyway.
pub async fn assign(tx: &mut Tx) -> Result<()> {
    for (users, update) in [
        (
            "SELECT DISTINCT org_id, u.user_id FROM evaluation_results JOIN subjects u USING (org_id, subject)
             WHERE user_group < 0 ORDER BY org_id",
            "UPDATE evaluation_results SET user_group = $3 WHERE org_id = $1 AND subject = $2 AND epoch = $4",
        ),
        (
            "SELECT DISTINCT org_id, u.user_id FROM shadow_sessions JOIN subjects u USING (org_id, subject)
             WHERE user_group < 0 ORDER BY org_id",
            "UPDATE shadow_sessions SET user_group = $3 WHERE org_id = $1 AND subject = $2 AND epoch = $4",
        ),
    ] {
        let found = rows!(tx, (OrgId, UserId), users)?;
        for of_one in found.chunk_by(|one, other| one.0 == other.0) {
            let (Some((org_id, _)), users) =
                (of_one.first(), of_one.iter().map(|(_, user_id)| user_id.clone()))
            else {
                continue;
            };
            let users: Vec<UserId> = users.collect();
            for (user_id, subject) in barrier::open_known(tx, org_id, &users).await? {
                run!(tx, update, org_id, &user_id, group_of(org_id, &user_id), subject.epoch())?;
            }
        }
    }
    Ok(())
}

/// Numbers that are kept of a group: its rows, and at most six sums.
const WIDTH: usize = 7;

type Table = [[i64; WIDTH]; GROUPS];

/// Sums of a line by group: the number of rows first, then the sums in their order.
///
/// A line that is kept has them as text, `group sum sum …;group sum …`; a single row has its group alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Groups {
    Of(i64),
    Sums(Option<Box<Table>>),
}

impl Default for Groups {
    fn default() -> Self {
        Groups::Sums(None)
    }
}

impl Groups {
    /// Adds what a line has, as often as it counts; `own` are the sums of a line that is of one group.
    pub fn add(&mut self, share: i64, other: &Groups, own: &[i64]) {
        let Groups::Sums(sums) = self else { return };
        let add = |sum: &mut [i64; WIDTH], values: &[i64]| {
            sum.iter_mut().zip(values).for_each(|(sum, value)| *sum += share * value);
        };
        match other {
            Groups::Of(group) => add(&mut sums.get_or_insert_default()[place(*group)], own),
            Groups::Sums(Some(groups)) => {
                let sums = sums.get_or_insert_default();
                sums.iter_mut().zip(groups.iter()).for_each(|(sum, values)| add(sum, values));
            }
            Groups::Sums(None) => {}
        }
    }

    /// The text that a line keeps of the first `width` numbers; groups without rows are left out.
    pub fn text(&self, width: usize) -> String {
        let mut text = String::new();
        let Groups::Sums(Some(sums)) = self else { return text };
        let kept = sums.iter().enumerate().filter(|(_, values)| values.iter().any(|v| *v != 0));
        for (group, values) in kept {
            if !text.is_empty() {
                text.push(';');
            }
            let _ = write!(text, "{group}");
            values.iter().take(width).for_each(|value| {
                let _ = write!(text, " {value}");
            });
        }
        text
    }

    /// Reads [`Groups::text`]. An overview reads many of them: byte by byte takes a third of the time of splitting.
    pub fn parse(text: &str) -> Option<Self> {
        if text.is_empty() {
            return Some(Groups::Sums(None));
        }
        let mut sums: Box<Table> = Box::default();
        let (mut group, mut column) = (None, 0);
        let (mut number, mut sign, mut digits) = (0_i64, 1, 0);
        for byte in text.bytes().chain([b';']) {
            match byte {
                b'0'..=b'9' => {
                    number = number.checked_mul(10)?.checked_add(i64::from(byte - b'0'))?;
                    digits += 1;
                }
                b'-' if digits == 0 => sign = -1,
                b' ' | b';' if digits > 0 => {
                    match group {
                        None => group = Some(place(sign * number)),
                        Some(group) => {
                            *sums[group].get_mut(column)? = sign * number;
                            column += 1;
                        }
                    }
                    (number, sign, digits) = (0, 1, 0);
                    if byte == b';' {
                        (group, column) = (None, 0);
                    }
                }
                _ => return None,
            }
        }
        Some(Groups::Sums(Some(sums)))
    }

    /// The sums that intervals are made of: two numbers of each group, from its rows and sums, which count sessions as
    /// `unit`.
    #[allow(clippy::cast_precision_loss)] // counts of sessions fit exactly
    pub fn sums(&self, unit: f64, of_group: impl Fn(&[i64; WIDTH]) -> (i64, i64)) -> GroupSums {
        let mut all = GroupSums::default();
        if let Groups::Sums(Some(sums)) = self {
            for (group, values) in sums.iter().enumerate() {
                let (sessions, total) = of_group(values);
                all.add(group, sessions as f64 / unit, total as f64 / unit);
            }
        }
        all
    }
}

/// The place of a group; -1, of rows from before groups were kept, is the last.
fn place(group: i64) -> usize {
    usize::try_from(group.rem_euclid(GROUPS as i64)).unwrap_or(0)
}

impl<'de> Deserialize<'de> for Groups {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct Read;
        impl Visitor<'_> for Read {
            type Value = Groups;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a group, or sums by group")
            }

            fn visit_i64<E: Error>(self, group: i64) -> std::result::Result<Groups, E> {
                Ok(Groups::Of(group))
            }

            fn visit_u64<E: Error>(self, group: u64) -> std::result::Result<Groups, E> {
                i64::try_from(group).map(Groups::Of).map_err(E::custom)
            }

            fn visit_str<E: Error>(self, text: &str) -> std::result::Result<Groups, E> {
                Groups::parse(text).ok_or_else(|| E::custom("sums by group are not readable"))
            }
        }
        deserializer.deserialize_any(Read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_read_as_they_were_written() {
        let mut groups = Groups::default();
        groups.add(1, &Groups::Of(31), &[1, 0, 4]);
        groups.add(1, &Groups::Of(3), &[1, 1, 0]);
        groups.add(-1, &Groups::Of(3), &[1, 1, 0]);
        groups.add(1, &Groups::Of(-1), &[1, 1, 2]);
        assert_eq!(groups.text(3), "31 2 1 6");
        let mut read = Groups::parse(&groups.text(3)).unwrap();
        read.add(2, &Groups::parse("0 5 5 5;31 1 1 1").unwrap(), &[]);
        assert_eq!(read.text(3), "0 10 10 10;31 4 3 8");
        assert_eq!(Groups::parse("").map(|g| g.text(3)), Some(String::new()));
        let mut negative = Groups::default();
        negative.add(-3, &Groups::Of(2), &[1, 20]);
        assert_eq!(negative.text(2), "2 -3 -60");
        assert_eq!(Groups::parse("2 -3 -60"), Some(negative));
        for wrong in
            ["1 x", "1  2", "1 2;", ";", "1 -", "1 99999999999999999999", "1 1 1 1 1 1 1 1 1"]
        {
            assert_eq!(Groups::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn users_spread_over_all_groups() {
        let mut counts = [0; GROUPS];
        for n in 0..3_200 {
            let group = group_of(&OrgId::from("default"), &UserId::from(format!("user-{n}")));
            counts[usize::try_from(group).unwrap()] += 1;
        }
        assert!(counts.iter().all(|count| (60..140).contains(count)), "{counts:?}");
    }
}
