//! Clusters of playbooks that say the same.

use std::collections::{BTreeSet, HashMap};

use crate::learnings::likeness::{Likeness, dice_of};
use base::owner::UserId;

/// A user playbook as it is compared.
#[derive(Clone, Debug, Default, sqlx_macros::FromRow)]
pub struct Member {
    pub user_playbook_id: i64,
    pub user_id: UserId,
    pub content: String,
    pub trigger: String,
    pub source_interaction_ids: sqlx::types::Json<Vec<i64>>,
    pub vector: Option<Vec<u8>>,
}

impl Member {
    pub fn text(&self) -> String {
        format!("{} {}", self.trigger, self.content)
    }

    pub fn likeness(&self) -> Likeness {
        Likeness::of(&self.text()).with_vector(self.vector.as_deref())
    }
}

/// Playbooks that say the same.
#[derive(Clone, Debug)]
pub struct Cluster {
    /// Places in the list of members, ascending.
    pub members: Vec<usize>,
    /// The same places, those that have most in common with the others first.
    pub spokesmen: Vec<usize>,
}

/// Puts members together, each with the first it agrees with best. Oldest first, so the result depends on nothing but
/// the members. Only clusters of at least `people` different people are given.
pub fn find(members: &[Member], people: usize) -> Vec<Cluster> {
    let likenesses: Vec<Likeness> = members.iter().map(Member::likeness).collect();
    let by_vector = members.iter().any(|member| member.vector.is_some());
    let mut clusters: Vec<Vec<usize>> = Vec::new();
    // The clusters whose leader has a word, and the number of words that each leader shares with the member in hand.
    let mut by_term: HashMap<&str, Vec<usize>> = HashMap::new();
    let mut shared: Vec<usize> = Vec::new();
    for (place, likeness) in likenesses.iter().enumerate() {
        let lists = likeness.terms().iter().filter_map(|term| by_term.get(term.as_str()));
        let mut touched = Vec::new();
        for cluster in lists.flatten() {
            if shared[*cluster] == 0 {
                touched.push(*cluster);
            }
            shared[*cluster] += 1;
        }
        let leader = |cluster: usize| &likenesses[clusters[cluster][0]];
        let common = |cluster: usize| {
            dice_of(shared[cluster], likeness.terms().len(), leader(cluster).terms().len())
        };
        let better = |best: Option<(f64, usize)>, cluster: usize| {
            let common = common(cluster);
            if !likeness.agrees_by(common, leader(cluster)) {
                return best;
            }
            let is_better = best.is_none_or(|best| (common, best.1) > (best.0, cluster));
            if is_better { Some((common, cluster)) } else { best }
        };
        // Without vectors only clusters that share a word can agree.
        let best = match by_vector {
            true => (0..clusters.len()).fold(None, better),
            false => touched.iter().copied().fold(None, better),
        };
        for cluster in touched {
            shared[cluster] = 0;
        }
        match best {
            Some((_, cluster)) => clusters[cluster].push(place),
            None => {
                for term in likeness.terms() {
                    by_term.entry(term).or_default().push(clusters.len());
                }
                clusters.push(vec![place]);
                shared.push(0);
            }
        }
    }
    clusters
        .into_iter()
        .filter(|cluster| users(members, cluster).len() >= people)
        .map(|members| Cluster { spokesmen: spokesmen(&likenesses, &members), members })
        .collect()
}

/// The different people of a cluster.
pub fn users<'a>(members: &'a [Member], cluster: &[usize]) -> BTreeSet<&'a str> {
    cluster.iter().map(|place| members[*place].user_id.as_str()).collect()
}

/// Members of a cluster that each is compared with to find its spokesmen: all pairs of a large one are too many.
const COMPARED: usize = 100;

fn spokesmen(likenesses: &[Likeness], cluster: &[usize]) -> Vec<usize> {
    let step = cluster.len().div_ceil(COMPARED).max(1);
    let score = |place: &usize| -> f64 {
        let others = cluster.iter().step_by(step);
        others.map(|other| likenesses[*place].common(&likenesses[*other])).sum()
    };
    let mut scored: Vec<(f64, usize)> = cluster.iter().map(|p| (score(p), *p)).collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    scored.into_iter().map(|(_, place)| place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learnings::vectors::Compact;

    fn member(id: i64, user: &str, content: &str) -> Member {
        Member {
            user_playbook_id: id,
            user_id: user.into(),
            content: content.to_owned(),
            ..Member::default()
        }
    }

    /// The rule without an index: each member is compared with the first one of every cluster.
    fn brute_force(members: &[Member]) -> Vec<Vec<usize>> {
        let likenesses: Vec<Likeness> = members.iter().map(Member::likeness).collect();
        let mut clusters: Vec<Vec<usize>> = Vec::new();
        for (place, likeness) in likenesses.iter().enumerate() {
            let leader = |cluster: usize| &likenesses[clusters[cluster][0]];
            let best =
                (0..clusters.len()).filter(|c| likeness.agrees(leader(*c))).max_by(|a, b| {
                    let common = |cluster| likeness.common(leader(cluster));
                    common(*a).total_cmp(&common(*b)).then(b.cmp(a))
                });
            match best {
                Some(cluster) => clusters[cluster].push(place),
                None => clusters.push(vec![place]),
            }
        }
        clusters
    }

    proptest::proptest! {
        #[test]
        fn the_index_finds_what_comparing_all_finds(
            texts in proptest::collection::vec("(never )?(a[abc] ){0,5}", 0..40),
            vectors in proptest::collection::vec(proptest::option::of((-3i8..3, -3i8..3)), 40),
        ) {
            let members: Vec<Member> = texts
                .iter()
                .zip(&vectors)
                .map(|(text, vector)| {
                    let vector = vector.and_then(|(x, y)| Compact::new(&[x.into(), y.into()]));
                    let vector = vector.map(|vector| vector.to_bytes());
                    Member { vector, ..member(1, "ada", text) }
                })
                .collect();
            let without = members.iter().map(|m| Member { vector: None, ..m.clone() }).collect();
            for members in [members, without] {
                let found: Vec<_> = find(&members, 1).into_iter().map(|c| c.members).collect();
                proptest::prop_assert_eq!(found, brute_force(&members));
            }
        }
    }

    #[test]
    fn only_what_different_people_say_counts() {
        let members = [
            member(1, "ada", "Always quote prices with tax"),
            member(2, "ada", "Always quote the prices with tax"),
            member(3, "bob", "Never send paper mail"),
            member(4, "eve", "Please always quote prices with the tax"),
            member(5, "eve", "Never quote prices with tax"),
        ];
        let found = find(&members, 2);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].members, [0, 1, 3]);
        assert!(find(&members, 3).is_empty());
    }
}
