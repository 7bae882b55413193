//! Evidence for and against success in the turns: thanks, complaints and whether they were taken back, refusals.

use super::cues::*;
use super::session::Heard;
use super::words::{content, has, plain, sentences};

/// The user is content with something; with what, the place of the turn says.
pub fn is_content(plain: &str) -> bool {
    (has(plain, &THANKS) || has(plain, &DONE)) && !has(plain, &NO_THANKS) && !complains(plain)
}

pub fn complains(plain: &str) -> bool {
    has(plain, &COMPLAINT)
        || has(plain, &ANGER)
        || JUST_NO.contains(&plain)
        || has(plain, &THANKS_FOR_NOTHING)
}

/// The turn says that an answer was wrong or did not work; that it might not is no complaint.
fn objects(turn: &Heard) -> bool {
    has(&turn.plain, &COMPLAINT)
        && sentences(&turn.text).into_iter().any(|sentence| {
            let plain = plain(sentence);
            has(&plain, &COMPLAINT) && !has(&plain, &CONDITION)
        })
}

/// The turn asks for something to be done or said.
pub fn wishes(turn: &Heard) -> bool {
    sentences(&turn.text).into_iter().any(is_wish)
}

fn is_wish(sentence: &str) -> bool {
    let plain = plain(sentence);
    is_question(sentence) || has(&plain, &WISH) && !has(&plain, &WISH_TO_THANK)
}

pub fn is_question(text: &str) -> bool {
    text.trim_end().ends_with(['?', '？'])
}

/// True if the user's last words end the session well. Thanks for an answer that admits failure are good
/// manners; then the user must say that it is done.
pub fn settles(user: &Heard, answer: &Heard) -> bool {
    is_content(&user.plain) && (!could_not(answer) || has(&user.plain, &DONE))
}

/// The user says in so many words that it is done. Thanks alone do not say so.
pub fn confirms(user: &Heard) -> bool {
    let says_so = has(&user.plain, &DONE)
        && sentences(&user.text).into_iter().any(|sentence| {
            let plain = plain(sentence);
            has(&plain, &DONE) && !has(&plain, &NOT_DONE) && !is_wish(sentence)
        });
    says_so && !user.is_flagged && !complains(&user.plain) && !has(&user.plain, &NO_THANKS)
}

/// The answer says that the agent tried in vain, and shows no other way.
fn could_not(answer: &Heard) -> bool {
    has(&answer.plain, &COULD_NOT) && !has(&answer.plain, &WAY_ON)
}

/// The answer says no, and shows no other way.
pub fn refuses(answer: &Heard) -> bool {
    (has(&answer.plain, &COULD_NOT) || has(&answer.plain, &UNABLE)) && !has(&answer.plain, &WAY_ON)
}

/// The turn of the agent that thanks after it are for: its last one that is more than a closing.
pub fn last_answer(turns: &[Heard]) -> Option<usize> {
    let agents = |at: &usize| !turns[*at].user;
    let answers = (0..turns.len()).filter(agents).rfind(|at| !is_closing(turns, *at));
    answers.or_else(|| (0..turns.len()).rfind(agents))
}

/// "You are welcome" to somebody who thanked and asked for nothing, or "anything else?" after an answer.
fn is_closing(turns: &[Heard], at: usize) -> bool {
    let (Some(before), turn) = (at.checked_sub(1).map(|at| &turns[at]), &turns[at]) else {
        return false;
    };
    let closes = |sentence: &&str| {
        let plain = plain(sentence);
        has(&plain, &WELCOME) || is_question(sentence) && has(&plain, &ANYTHING_ELSE)
    };
    let said = sentences(&turn.text);
    let closed = if before.user {
        let thanked = is_content(&before.plain) && !wishes(before);
        thanked && said.iter().any(closes) && !said.iter().any(|s| is_question(s) && !closes(s))
    } else {
        !said.is_empty() && said.iter().all(closes)
    };
    closed && turn.tools.is_empty() && !refuses(turn)
}

/// Whether the user complained about an answer and neither took it back nor got what they asked for instead. An
/// apology takes nothing back. What a user complains of before there is an answer, or when asked, is the matter itself.
/// Anger counts when nothing but an apology or a refusal followed; what came after is not known to have left it.
pub fn complaint_stands(turns: &[Heard]) -> bool {
    (0..turns.len()).any(|at| {
        let Some(before) = turns[..at].iter().rfind(|turn| !turn.user && !turn.text.is_empty())
        else {
            return false;
        };
        let turn = &turns[at];
        let in_vain = || {
            let later = &turns[at + 1..];
            later.iter().all(|t| if t.user { !wishes(t) } else { only_apologizes(t) || refuses(t) })
        };
        turn.user
            && (objects(turn) || has(&turn.plain, &ANGER) && in_vain())
            && !only_asks(before)
            && !taken_back(&turns[at..])
            && !repaired(&turns[at..])
    })
}

/// True if a later turn of the user, after an answer, takes back the complaint in the first of these turns:
/// thanks before a new request are for the answer given, thanks behind it for work yet to be done.
fn taken_back(turns: &[Heard]) -> bool {
    let Some(answer) = turns.iter().position(|turn| !turn.user) else { return false };
    turns[answer..].iter().filter(|turn| turn.user && !complains(&turn.plain)).any(|turn| {
        let first: Vec<&str> =
            sentences(&turn.text).into_iter().take_while(|sentence| !is_wish(sentence)).collect();
        is_content(&plain(&first.join(" "))) || has(&turn.plain, &TAKES_BACK)
    })
}

/// True if the first of these turns says what is wanted instead, and an answer follows that is neither a
/// refusal nor a mere apology.
fn repaired(turns: &[Heard]) -> bool {
    let asked = &turns[0];
    let text = asked.text.to_lowercase();
    let corrects = has(&asked.plain, &INSTEAD) || CONTRAST.iter().any(|c| text.contains(c));
    let answers = |turn: &Heard| !turn.user && !only_apologizes(turn) && !refuses(turn);
    corrects && turns.iter().any(answers)
}

/// The reply is sorry, and no more.
pub fn only_apologizes(reply: &Heard) -> bool {
    const JOINTS: &[&str] = &[
        " and ", " but ", " und ", " aber ", " et ", " mais ", " y ", " pero ", " e ", " mas ",
        " ma ", " и ", " но ",
    ];
    let mut text = reply.text.to_lowercase();
    for joint in JOINTS {
        text = text.replace(joint, ", ");
    }
    let clauses = sentences(&text)
        .into_iter()
        .flat_map(|sentence| sentence.split([',', ';', ':', '，', '、', '；', '：', '–', '—']));
    has(&reply.plain, &SORRY)
        && reply.tools.is_empty()
        && clauses
            .into_iter()
            .all(|clause| has(&plain(clause), &SORRY) || content(clause).len() <= 1)
}

/// The reply is questions and nothing else, and not the polite last one.
pub fn only_asks(reply: &Heard) -> bool {
    let sentences = sentences(&reply.text);
    !sentences.is_empty()
        && is_question(&reply.text)
        && !has(&reply.plain, &ANYTHING_ELSE)
        && !has(&reply.plain, &DID_IT_HELP)
        && sentences.iter().filter(|s| !is_question(s)).all(|s| content(s).len() <= 4)
}
