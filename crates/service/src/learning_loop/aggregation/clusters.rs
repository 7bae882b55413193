//! Clusters of playbooks that say the same.

use std::collections::{BTreeSet, HashMap};

use crate::learnings::likeness::Likeness;
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
        Likeness::of(&self.text()).with_vector(self.vector.clone())
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
    let mut by_term: HashMap<&str, Vec<usize>> = HashMap::new();
    for (place, likeness) in likenesses.iter().enumerate() {
        // Without vectors only clusters that share a word can agree.
        let candidates: BTreeSet<usize> = if by_vector {
            (0..clusters.len()).collect()
        } else {
            let shared = likeness.terms().iter().filter_map(|term| by_term.get(term.as_str()));
            shared.flatten().copied().collect()
        };
        let leader = |cluster: &usize| &likenesses[clusters[*cluster][0]];
        let best = candidates
            .into_iter()
            .filter(|cluster| likeness.agrees(leader(cluster)))
            .max_by(|a, b| {
                let common = |cluster| likeness.common(leader(cluster));
                common(a).total_cmp(&common(b)).then(b.cmp(a))
            });
        match best {
            Some(cluster) => clusters[cluster].push(place),
            None => {
                for term in likeness.terms() {
                    by_term.entry(term).or_default().push(clusters.len());
                }
                clusters.push(vec![place]);
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

    fn member(id: i64, user: &str, content: &str) -> Member {
        Member {
            user_playbook_id: id,
            user_id: user.into(),
            content: content.to_owned(),
            ..Member::default()
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
