//! A person goes, and what they alone said goes from the texts they helped to make.
//!
//! The second line: [`super::aggregation`] lets nothing of one person into a shared text, but people of the organization
//! type and edit such texts by hand. Before a person's rows are deleted, every agent playbook that is linked to them is
//! compared with what they wrote. Their ids, names and numbers, and any three words in a row that none of the other
//! sources used, are masked in place, in the transaction that removes their links. The playbook itself stays, with its
//! approval.

use std::collections::{BTreeMap, HashSet};

use serde_json::Value;
use sqlx::types::Json;

use super::own_words::{self, Run, Word};
use super::sql::masking as rows;
use super::sql::masking::ProposalTexts;
use crate::app::App;
use crate::learnings::{
    AgentPlaybook, PROPOSED, PlaybookStatus, agent_playbooks, rejections, rows as sql,
};
use crate::sessions;
use base::owner::{OrgId, UserId};
use base::words;
use storage::db::Tx;
use storage::error::Result;

/// Stands where somebody's words stood.
const MASK: &str = "[removed]";
/// Playbooks that are compared at a time, and turns that are read at a time.
const BATCH: i64 = 50;
const TURNS: i64 = 1000;

/// Shared texts, and what one of their sources said.
pub struct SharedComparison {
    org_id: OrgId,
    user_id: UserId,
    epoch: i64,
    own: UsedWords,
    shared: Vec<Shared>,
}

/// An agent playbook with everything that keeps its text.
struct Shared {
    playbook: AgentPlaybook,
    drafts: Vec<ProposalTexts>,
    /// The words of its other sources and of the proposal it was made from: nobody's alone.
    others: UsedWords,
}

/// Counts of masked texts and removed links.
#[derive(Clone, Copy, Debug, Default)]
pub struct Masked {
    pub texts: u64,
    pub links: u64,
}

/// Words somebody uses, lower case.
#[derive(Default)]
struct UsedWords {
    words: HashSet<String>,
    /// Words that are written as names.
    names: HashSet<String>,
    tokens: HashSet<String>,
    runs: HashSet<Run>,
}

impl UsedWords {
    /// Takes a text in, as far as it is `wanted`.
    fn hear(&mut self, text: &str, wanted: Option<&UsedWords>) {
        let found = own_words::words(text);
        let is_wanted = |word: &String| wanted.is_none_or(|wanted| wanted.words.contains(word));
        let names = found.iter().filter(|w| w.is_name_like).map(|w| w.lower.clone());
        self.names.extend(names.chain(own_words::stated_names(text)).filter(is_wanted));
        let runs = own_words::runs(&found);
        self.runs.extend(runs.filter(|run| wanted.is_none_or(|wanted| wanted.runs.contains(run))));
        let tokens = own_words::tokens(text).map(|(_, token)| token.to_lowercase());
        self.tokens
            .extend(tokens.filter(|t| wanted.is_none_or(|wanted| wanted.tokens.contains(t))));
        self.words.extend(found.into_iter().map(|word| word.lower).filter(is_wanted));
    }
}

impl Shared {
    fn texts(&self) -> impl Iterator<Item = &str> {
        let AgentPlaybook { playbook_name, content, trigger, rationale, .. } = &self.playbook;
        let own = [playbook_name, content, trigger, rationale];
        let tags = self.playbook.tags.iter();
        let drafts = self.drafts.iter().flat_map(|d| [&d.content, &d.trigger, &d.rationale]);
        own.into_iter().chain(tags).chain(drafts).map(String::as_str)
    }
}

/// The next shared texts that a person has had a part in before `epoch`, compared with what the person wrote; nothing
/// when there are none.
pub async fn compare(
    tx: &mut Tx,
    org_id: &OrgId,
    user_id: &UserId,
    epoch: i64,
) -> Result<Option<SharedComparison>> {
    let linked = rows::linked(tx, org_id, user_id, epoch, BATCH).await?;
    if linked.is_empty() {
        return Ok(None);
    }
    let mut others: BTreeMap<i64, UsedWords> = BTreeMap::new();
    for (id, text) in rows::others(tx, org_id, user_id, &linked).await? {
        others.entry(id).or_default().hear(&text, None);
    }
    let mut drafts = rows::drafts(tx, org_id, &linked).await?;
    let (mut shared, mut wanted) = (Vec::new(), UsedWords::default());
    for playbook in sql::agent_playbooks::by_ids(tx, org_id, &linked).await? {
        let mut others = others.remove(&playbook.agent_playbook_id).unwrap_or_default();
        let metadata = playbook.playbook_metadata.0.to_string();
        let mut proposed = Vec::new();
        strings(&playbook.playbook_metadata.0[PROPOSED], &mut proposed);
        proposed.into_iter().for_each(|text| others.hear(text, None));
        let id = playbook.agent_playbook_id.to_string();
        let (of_it, rest) = drafts.into_iter().partition(|draft| draft.learning_id == id);
        drafts = rest;
        let text = Shared { playbook, drafts: of_it, others };
        text.texts().chain([metadata.as_str()]).for_each(|text| wanted.hear(text, None));
        shared.push(text);
    }
    let own = own(tx, org_id, user_id, &wanted).await?;
    let (org_id, user_id) = (org_id.to_owned(), user_id.to_owned());
    Ok(Some(SharedComparison { org_id, user_id, epoch, own, shared }))
}

fn strings<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
    match value {
        Value::String(text) => found.push(text),
        Value::Array(list) => list.iter().for_each(|value| strings(value, found)),
        Value::Object(object) => object.values().for_each(|value| strings(value, found)),
        _ => {}
    }
}

/// The part of `wanted` that a person wrote.
async fn own(
    tx: &mut Tx,
    org_id: &OrgId,
    user_id: &UserId,
    wanted: &UsedWords,
) -> Result<UsedWords> {
    let mut own = UsedWords::default();
    own.hear(user_id, Some(wanted));
    own.names.extend(own_words::id_parts(user_id));
    for text in rows::learned(tx, org_id, user_id).await? {
        own.hear(&text, Some(wanted));
    }
    let mut after = 0;
    loop {
        let turns = sessions::said(tx, org_id, user_id, after, TURNS).await?;
        let Some(last) = turns.last() else { return Ok(own) };
        after = last.interaction_id;
        for turn in &turns {
            let mut texts = vec![&turn.session_id, &turn.request_id];
            if sessions::is_user(&turn.role) {
                texts.extend([&turn.content, &turn.user_action_description]);
            }
            texts.into_iter().for_each(|text| own.hear(text, Some(wanted)));
        }
    }
}

/// Masks what is the person's own in the compared texts and removes their links to them. A text that was changed since
/// it was compared keeps its links: the next comparison has it again.
pub async fn mask(tx: &mut Tx, app: &App, comparison: &SharedComparison) -> Result<Masked> {
    let SharedComparison { org_id, user_id, epoch, own, shared } = comparison;
    let mut done = Masked::default();
    sql::next_version(tx, org_id).await?;
    for Shared { playbook: compared, drafts, others } in shared {
        let id = compared.agent_playbook_id;
        let Some(mut playbook) = sql::agent_playbooks::hold(tx, org_id, id).await? else {
            continue;
        };
        let masking = Masking { own, others, id: own_words::words(user_id) };
        let texts = |p: &AgentPlaybook| {
            let texts = [&p.playbook_name, &p.content, &p.trigger, &p.rationale].map(Clone::clone);
            (texts, p.tags.0.clone(), p.playbook_metadata.0.clone())
        };
        if texts(&playbook) != texts(compared) || rows::drafts(tx, org_id, &[id]).await? != *drafts
        {
            continue;
        }
        masking.apply(&mut playbook);
        let mut changed = texts(&playbook) != texts(compared);
        if changed {
            agent_playbooks::rewrite(tx, app, org_id, &playbook).await?;
            if playbook.playbook_status == PlaybookStatus::Rejected {
                rejections::remember_rejection(tx, app, org_id, &playbook).await?;
            }
        }
        for draft in drafts {
            let mut masked = draft.clone();
            for text in [&mut masked.content, &mut masked.trigger, &mut masked.rationale] {
                *text = masking.masked(text);
            }
            if masked != *draft {
                rows::rewrite_draft(tx, org_id, &masked).await?;
                changed = true;
            }
        }
        done.texts += u64::from(changed);
        done.links += sql::agent_playbooks::unlink(tx, org_id, user_id, *epoch, id).await?;
    }
    Ok(done)
}

/// One person's words against those of the others.
struct Masking<'a> {
    own: &'a UsedWords,
    others: &'a UsedWords,
    /// The person's id.
    id: Vec<Word>,
}

impl Masking<'_> {
    fn apply(&self, playbook: &mut AgentPlaybook) {
        for text in [
            &mut playbook.playbook_name,
            &mut playbook.content,
            &mut playbook.trigger,
            &mut playbook.rationale,
        ] {
            *text = self.masked(text);
        }
        for tag in &mut playbook.tags.0 {
            *tag = self.masked(tag);
        }
        playbook.tags.0.dedup();
        playbook.playbook_metadata = Json(self.masked_value(&playbook.playbook_metadata.0));
    }

    fn masked_value(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.masked(text)),
            Value::Array(list) => list.iter().map(|value| self.masked_value(value)).collect(),
            Value::Object(object) => object
                .iter()
                .map(|(name, value)| (self.masked(name), self.masked_value(value)))
                .collect(),
            other => other.clone(),
        }
    }

    /// The text with a mask over everything that is the person's own.
    fn masked(&self, text: &str) -> String {
        let words = own_words::words(text);
        let mut is_own: Vec<bool> = words.iter().map(|word| self.is_own_word(word)).collect();
        self.mark_runs(&words, &mut is_own);
        self.mark_id(&words, &mut is_own);
        for (at, token) in own_words::tokens(text) {
            let lower = token.to_lowercase();
            if (own_words::is_address(token) || token.chars().any(char::is_numeric))
                && self.own.tokens.contains(&lower)
                && !self.others.tokens.contains(&lower)
            {
                let inside = |word: &Word| (at..at + token.len()).contains(&word.start);
                words.iter().zip(&mut is_own).for_each(|(word, own)| *own |= inside(word));
            }
        }
        let (mut out, mut copied, mut place) = (String::with_capacity(text.len()), 0, 0);
        while place < words.len() {
            let length = is_own[place..].iter().take_while(|own| **own).count();
            if length > 0 {
                out.push_str(&text[copied..words[place].start]);
                out.push_str(MASK);
                copied = words[place + length - 1].end;
            }
            place += length.max(1);
        }
        out.push_str(&text[copied..]);
        out
    }

    fn is_own_word(&self, word: &Word) -> bool {
        let used = self.own.words.contains(&word.lower) && word.has_digit;
        let named = self.own.names.contains(&word.lower)
            || (word.is_name_like && self.own.words.contains(&word.lower));
        (used || named) && !self.others.words.contains(&word.lower)
    }

    /// Stretches of words in which every three are the person's alone, and that say something.
    fn mark_runs(&self, words: &[Word], is_own: &mut [bool]) {
        let theirs: Vec<bool> = own_words::runs(words)
            .map(|run| self.own.runs.contains(&run) && !self.others.runs.contains(&run))
            .collect();
        let mut place = 0;
        while place < theirs.len() {
            let length = theirs[place..].iter().take_while(|theirs| **theirs).count();
            if length > 0 {
                let stretch = place..place + length + 2;
                if words[stretch.clone()].iter().any(|word| !words::is_common(&word.lower)) {
                    is_own[stretch].fill(true);
                }
            }
            place += length.max(1);
        }
    }

    fn mark_id(&self, words: &[Word], is_own: &mut [bool]) {
        let length = self.id.len();
        let id = |word: &Word| word.lower.clone();
        let wanted: Vec<String> = self.id.iter().map(id).collect();
        let is_one_common_word = length == 1 && self.others.words.contains(&wanted[0]);
        if length == 0 || is_one_common_word {
            return;
        }
        for place in 0..(words.len() + 1).saturating_sub(length) {
            if words[place..place + length].iter().map(id).eq(wanted.iter().cloned()) {
                is_own[place..place + length].fill(true);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vocabulary(texts: &[&str]) -> UsedWords {
        let mut all = UsedWords::default();
        texts.iter().for_each(|text| all.hear(text, None));
        all
    }

    fn masked(text: &str, user_id: &str, own: &[&str], others: &[&str]) -> String {
        let wanted = vocabulary(&[text]);
        let mut mine = UsedWords::default();
        own.iter().chain([&user_id]).for_each(|text| mine.hear(text, Some(&wanted)));
        mine.names.extend(own_words::id_parts(&user_id.into()));
        let others = vocabulary(others);
        Masking { own: &mine, others: &others, id: own_words::words(user_id) }.masked(text)
    }

    #[test]
    fn a_persons_own_words_are_masked_and_the_meaning_stays() {
        let own = [
            "My name is Mia Li, booking 3JA7XV, write to mia@example.org.",
            "I am in hospital and cannot fly",
        ];
        for (text, expected) in [
            (
                "Waive the fee for people who cannot travel (Mia Li, 3JA7XV: I am in hospital).",
                "Waive the fee for people who cannot travel ([removed]).",
            ),
            ("Ask Mia first. MIA knows.", "Ask [removed] first. [removed] knows."),
            ("Write to mia@example.org, or to us.", "[removed], or to us."),
            ("As guest-17 said", "As [removed] said"),
            ("Refunds take three days.", "Refunds take three days."),
            ("and in the end", "and in the end"),
            ("", ""),
        ] {
            assert_eq!(masked(text, "guest-17", &own, &[]), expected);
        }
    }

    #[test]
    fn other_sources_words_stay() {
        let own = ["Always quote prices with tax for order 48213"];
        let text = "Always quote prices with tax, as in order 48213";
        assert_eq!(
            masked(text, "u", &own, &["Please always quote prices with tax"]),
            "Always quote prices with tax, as in order [removed]"
        );
        assert_eq!(masked(text, "u", &own, &[]), "[removed], as in order [removed]");
    }
}
