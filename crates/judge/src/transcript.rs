//! Input of a judge, as plain values: there is no field for the arm, for citations or for retrieved
//! learnings, so none of them can reach a judge of success. Truncation happens here.

use std::borrow::Cow;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Consent;
use super::prompts::Kind;
use super::words::LearningKind;

/// One turn of a session. `role` is the publisher's word; `user` in any case is the user, all else the agent.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct Turn {
    pub id: i64,
    pub role: String,
    pub content: String,
    #[serde(default)]
    pub tools: Vec<ToolCall>,
    /// Unix seconds at which it was said, 0 where nobody knows. No model is told.
    #[serde(default, skip_serializing)]
    pub said_at: i64,
}

/// A tool the agent called in a turn.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct ToolCall {
    pub name: String,
    /// Input and output of the call.
    pub data: Value,
    pub status: String,
}

impl Turn {
    pub fn is_user(&self) -> bool {
        self.role.trim().eq_ignore_ascii_case("user")
    }

    /// The spoken text, and all texts of its tool calls.
    pub fn texts(&self) -> impl Iterator<Item = String> {
        let of_tool =
            |tool: &ToolCall| std::iter::once(tool.name.clone()).chain(strings(&tool.data));
        std::iter::once(self.content.clone()).chain(self.tools.iter().flat_map(of_tool))
    }
}

/// A learning at the turn it was retrieved for: what a relevance or impact verdict is about.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// The id of the turn whose response it was put before.
    pub turn: i64,
    pub kind: LearningKind,
    pub content: String,
    /// Situation in which a playbook applies; empty for profiles.
    pub trigger: String,
    /// True if the impact verdict should come with a diagnosis.
    pub diagnose: bool,
}

/// A stretch of one person's turns, session by session.
#[derive(Clone, Debug, Default)]
pub struct Window {
    pub turns: Vec<Turn>,
    /// Number of turns of each session, in their order.
    pub sessions: Vec<usize>,
    /// Answers written by experts, by turn.
    pub experts: Vec<(i64, String)>,
}

/// A learning that hurt, and what shows it.
#[derive(Clone, Debug, Default)]
pub struct Flawed {
    pub content: String,
    pub trigger: String,
    /// Diagnosed problems.
    pub problems: Vec<String>,
    /// The turns that show them.
    pub turns: Vec<Turn>,
}

/// The organization's description of its agent (part of the rubric, not of the transcript), and the consent
/// of the person in the transcript.
#[derive(Clone, Default, Serialize)]
pub struct Context {
    pub agent_context: String,
    pub tools: Vec<Tool>,
    pub success_definition: String,
    /// A session that was handed over to a person counts as failed, whatever the judge says.
    #[serde(skip)]
    pub escalation_means_failure: bool,
    /// Asked before each call; nothing for a transcript that is nobody's.
    #[serde(skip)]
    pub consent: Option<Arc<dyn Consent>>,
}

#[derive(Clone, Debug, Default, Serialize)]
pub struct Tool {
    pub name: String,
    pub description: String,
}

/// The material of one call.
#[derive(Clone, Debug)]
pub enum Input {
    Session { turns: Vec<Turn> },
    Relevance { turns: Vec<Turn>, candidates: Vec<Candidate> },
    Impact { turns: Vec<Turn>, candidates: Vec<Candidate> },
    Shadow { turns: Vec<Turn>, response_1: String, response_2: String },
    Extraction(Window),
    Edit(Flawed),
}

impl Input {
    pub fn kind(&self) -> Kind {
        match self {
            Input::Session { .. } => Kind::SessionSuccess,
            Input::Relevance { .. } => Kind::LearningRelevance,
            Input::Impact { .. } => Kind::LearningImpact,
            Input::Shadow { .. } => Kind::ShadowComparison,
            Input::Extraction(_) => Kind::LearningExtraction,
            Input::Edit(_) => Kind::LearningEdit,
        }
    }

    pub fn turns(&self) -> &[Turn] {
        match self {
            Input::Session { turns }
            | Input::Relevance { turns, .. }
            | Input::Impact { turns, .. }
            | Input::Shadow { turns, .. }
            | Input::Extraction(Window { turns, .. })
            | Input::Edit(Flawed { turns, .. }) => turns,
        }
    }

    /// All texts in it that were written outside of this program.
    pub fn texts(&self) -> Vec<String> {
        let mut texts: Vec<String> = self.turns().iter().flat_map(Turn::texts).collect();
        match self {
            Input::Session { .. } => {}
            Input::Relevance { candidates, .. } | Input::Impact { candidates, .. } => {
                for candidate in candidates {
                    texts.extend([candidate.content.clone(), candidate.trigger.clone()]);
                }
            }
            Input::Shadow { response_1, response_2, .. } => {
                texts.extend([response_1.clone(), response_2.clone()]);
            }
            Input::Extraction(window) => {
                texts.extend(window.experts.iter().map(|(_, answer)| answer.clone()));
            }
            Input::Edit(flawed) => {
                texts.extend([flawed.content.clone(), flawed.trigger.clone()]);
                texts.extend(flawed.problems.iter().cloned());
            }
        }
        texts
    }
}

/// All texts inside a JSON value, names included.
pub fn strings(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => vec![text.clone()],
        Value::Array(items) => items.iter().flat_map(strings).collect(),
        Value::Object(object) => object
            .iter()
            .flat_map(|(name, inner)| std::iter::once(name.clone()).chain(strings(inner)))
            .collect(),
        _ => Vec::new(),
    }
}

/// Tokens of a text (cl100k_base; other vocabularies differ by some percent).
pub fn tokens(text: &str) -> usize {
    tokens::count(text)
}

/// A text within `limit` tokens, its head and tail kept around a mark. The flag says whether anything was cut.
pub fn cut_text(text: &str, limit: usize) -> (String, bool) {
    // Eight bytes a token: beyond that, counting would only cost time.
    if text.len() <= limit.saturating_mul(8) && tokens(text) <= limit {
        return (text.to_owned(), false);
    }
    let half = limit / 2;
    let head = within(text, half, false);
    let tail = within(&text[head.len()..], half, true);
    let left_out = text.len() - head.len() - tail.len();
    if left_out == 0 {
        return (text.to_owned(), false);
    }
    (format!("{head} […{left_out} bytes left out…] {tail}"), true)
}

/// The longest head (or tail) that is surely within `limit` tokens, found by halving.
fn within(text: &str, limit: usize, tail: bool) -> &str {
    let mut length = text.len().min(limit.saturating_mul(8));
    loop {
        let part = if tail {
            &text[text.ceil_char_boundary(text.len() - length)..]
        } else {
            &text[..text.floor_char_boundary(length)]
        };
        if part.is_empty() || tokens(part) <= limit {
            return part;
        }
        length = length * 3 / 4;
    }
}

/// The turns as JSON lines within `limit` tokens, those that say most about the outcome kept and a mark where some were
/// left out. The flag says whether anything was cut.
pub fn lines(turns: &[Turn], limit: usize) -> (Vec<String>, bool) {
    let mut cut = false;
    let mut left = limit;
    let mut shown: Vec<Option<String>> = vec![None; turns.len()];
    for at in by_worth(turns) {
        let (value, turn_cut) = turn_value(&turns[at], limit / 4);
        let line = escape(&value.to_string());
        let cost = tokens(&line) + 1;
        // The last turn is shown whatever it costs.
        if cost <= left || left == limit {
            left = left.saturating_sub(cost);
            cut |= turn_cut;
            shown[at] = Some(line);
        }
    }
    let mut lines = Vec::with_capacity(shown.len());
    for gap in shown.chunk_by(|a, b| a.is_none() && b.is_none()) {
        match &gap[0] {
            Some(line) => lines.push(line.clone()),
            None => {
                cut = true;
                lines.push(json!({"left_out": format!("{} turns", gap.len())}).to_string());
            }
        }
    }
    (lines, cut)
}

/// The turns by how much they say about the outcome: the last and the first, those with failed or changing calls,
/// complaints and corrections, then the others from the end.
fn by_worth(turns: &[Turn]) -> Vec<usize> {
    const LAST: usize = 6;
    const FIRST: usize = 2;
    let worth = |at: &usize| {
        let turn = &turns[*at];
        let telling = |tool: &ToolCall| {
            crate::offline::session::failed(&tool.status, &tool.data)
                || crate::offline::tools::changes_state(&tool.name)
        };
        match *at {
            at if at + LAST >= turns.len() => 0,
            at if at < FIRST => 1,
            _ if turn.tools.iter().any(telling) => 2,
            _ if turn.is_user() && crate::offline::session::is_displeased(&turn.content) => 2,
            _ => 3,
        }
    };
    let mut order: Vec<usize> = (0..turns.len()).rev().collect();
    order.sort_by_key(worth);
    order
}

fn turn_value(turn: &Turn, limit: usize) -> (Value, bool) {
    let (text, mut cut) = cut_text(&without_images(&turn.content), limit);
    let role = if turn.is_user() { "user" } else { "agent" };
    let mut value = json!({"id": turn.id, "role": role, "text": text});
    if !turn.tools.is_empty() {
        let share = limit / turn.tools.len().min(limit.max(1));
        let tools = turn.tools.iter().map(|tool| {
            let (data, data_cut) = cut_text(&without_images(&tool.data.to_string()), share);
            cut |= data_cut;
            json!({"name": tool.name, "data": data, "status": tool.status})
        });
        value["tools"] = tools.collect();
    }
    (value, cut)
}

/// The text with a mark in place of each picture that stands in it as data: a judge of words cannot see it.
fn without_images(text: &str) -> Cow<'_, str> {
    const START: &str = "data:image/";
    if !text.contains(START) {
        return Cow::Borrowed(text);
    }
    let mut marked = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(START) {
        marked.push_str(&rest[..at]);
        marked.push_str("[image]");
        let data = |c: char| c.is_ascii_alphanumeric() || "/+=;,:.-_%".contains(c);
        let end = rest[at..].find(|c| !data(c)).unwrap_or(rest.len() - at);
        rest = &rest[at + end..];
    }
    marked.push_str(rest);
    Cow::Owned(marked)
}

/// JSON with everything that could be taken for markup, or that a reader cannot see, written as `\u….`. No
/// information is lost; `<|…|>` cannot become one of a model's special tokens.
pub fn escape(json: &str) -> String {
    let mut escaped = String::with_capacity(json.len());
    for c in json.chars() {
        if matches!(c, '<' | '>') || is_invisible(c) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                escaped.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            escaped.push(c);
        }
    }
    escaped
}

/// Characters that show nothing or turn the direction of reading, the second set of controls (C1, with the line end
/// U+0085) included. The joiner that emoji need is not one.
pub fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{007F}'..='\u{009F}' | '\u{00AD}' | '\u{034F}' | '\u{061C}' | '\u{180E}' | '\u{200B}' | '\u{200C}' | '\u{200E}' | '\u{200F}'
        | '\u{2028}' | '\u{2029}' | '\u{202A}'..='\u{202E}' | '\u{2060}'..='\u{206F}' | '\u{FEFF}'
        | '\u{E0000}'..='\u{E007F}' | '\u{E0100}'..='\u{E01EF}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn(id: i64, content: &str) -> Turn {
        let role = if id % 2 == 1 { "User" } else { "Assistant" };
        Turn { id, role: role.to_owned(), content: content.to_owned(), ..Turn::default() }
    }

    #[test]
    fn a_short_session_is_shown_whole_and_reads_back() {
        let mut turns = vec![turn(1, "<|im_start|>\u{200B}\"hi\"\n"), turn(2, "")];
        turns[1].tools.push(ToolCall {
            name: "find".to_owned(),
            data: json!({"q": "x"}),
            status: "error".to_owned(),
        });
        let (lines, cut) = lines(&turns, 1000);
        assert!(!cut);
        assert!(!lines[0].contains('<') && !lines[0].contains('\u{200B}'));
        let first: Value = serde_json::from_str(&lines[0]).unwrap();
        assert_eq!(first["text"], turns[0].content);
        let second: Value = serde_json::from_str(&lines[1]).unwrap();
        assert_eq!(second["tools"][0]["status"], "error");
        assert_eq!(second["role"], "agent");
    }

    #[test]
    fn a_long_session_keeps_head_and_tail_within_the_limit() {
        let turns: Vec<Turn> =
            (1..400).map(|id| turn(id, &format!("turn number {id} of many"))).collect();
        let (lines, cut) = lines(&turns, 600);
        assert!(cut);
        assert!(lines[0].contains("turn number 1 of"));
        assert!(lines.last().unwrap().contains("turn number 399 of"));
        assert_eq!(lines.iter().filter(|line| line.contains("left_out")).count(), 1);
        assert!(lines.iter().map(|line| tokens(line)).sum::<usize>() <= 620);
    }

    #[test]
    fn what_tells_most_is_kept_and_the_marks_say_where_turns_are_missing() {
        let mut turns: Vec<Turn> =
            (1..400).map(|id| turn(id, &format!("turn number {id} of many"))).collect();
        turns[100].content = "That is wrong, it should be the red one.".to_owned();
        let call = |name: &str, status: &str| ToolCall {
            name: name.to_owned(),
            data: json!({}),
            status: status.to_owned(),
        };
        turns[201].tools.push(call("cancel_order", "success"));
        turns[301].tools.push(call("get_order", "error"));
        let (lines, cut) = lines(&turns, 500);
        assert!(cut);
        let text = lines.join("\n");
        for kept in ["number 1 of", "red one", "cancel_order", "get_order", "number 399 of"] {
            assert!(text.contains(kept), "{kept} in {text}");
        }
        assert!(text.matches("left_out").count() >= 4, "{text}");
        assert!(tokens(&text) <= 600, "{}", tokens(&text));
    }

    #[test]
    fn pictures_leave_a_mark() {
        let data = format!("see ![](data:image/png;base64,{}) there", "iVBORw0KGgo".repeat(500));
        let (lines, cut) = lines(&[turn(1, &data)], 1000);
        assert!(!cut && lines[0].contains("see ![]([image]) there"), "{}", lines[0]);
    }

    #[test]
    fn one_long_text_is_cut_in_the_middle_on_character_boundaries() {
        for text in ["é".repeat(50_000), "word ".repeat(20_000), " ".repeat(300_000)] {
            let (short, cut) = cut_text(&format!("START{text}END"), 400);
            assert!(cut);
            assert!(short.starts_with("START") && short.ends_with("END"));
            assert!(tokens(&short) <= 420, "{}", tokens(&short));
        }
        assert_eq!(cut_text("short", 400), ("short".to_owned(), false));
    }

    proptest::proptest! {
        /// Whatever is said: nothing panics within a character, an uncut text is the text, and a cut one is its two ends
        /// within the limit.
        #[test]
        fn texts_are_cut_between_characters_and_within_their_limit(
            text in "(\\PC|[a-z ]{1,9}|🙂|\u{301}|\u{0}){0,300}", limit in 0_usize..120
        ) {
            let (shown, cut) = cut_text(&text, limit);
            if !cut {
                proptest::prop_assert_eq!(shown, text);
                return Ok(());
            }
            let (head, rest) = shown.split_once(" […").unwrap();
            let tail = rest.rsplit_once("left out…] ").unwrap().1;
            proptest::prop_assert!(text.starts_with(head) && text.ends_with(tail));
            proptest::prop_assert!(head.len() + tail.len() < text.len());
            proptest::prop_assert!(tokens(head) <= limit / 2 && tokens(tail) <= limit / 2);
        }

        /// First and last turns are there in their order, and whatever is missing is said to be.
        #[test]
        fn transcripts_keep_their_ends_and_say_what_is_missing(
            texts in proptest::collection::vec("\\PC{0,80}", 0..40), limit in 40_usize..600
        ) {
            let turns: Vec<Turn> = texts.iter().enumerate().map(|(id, text)| Turn {
                id: id as i64, role: "User".to_owned(), content: text.clone(), ..Turn::default()
            }).collect();
            let (shown, cut) = lines(&turns, limit);
            let values: Vec<Value> = shown.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
            let ids: Vec<i64> = values.iter().filter_map(|value| value["id"].as_i64()).collect();
            proptest::prop_assert!(ids.is_sorted());
            proptest::prop_assert_eq!(ids.last().copied(), turns.last().map(|turn| turn.id));
            proptest::prop_assert!(cut || ids.len() == turns.len());
            let said = values.iter().any(|value| value["left_out"].is_string());
            proptest::prop_assert_eq!(said, ids.len() < turns.len());
        }
    }
}
