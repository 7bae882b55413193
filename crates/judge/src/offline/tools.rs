//! Tools by their names: which only look, which change something, which hand over.

use super::cues::HANDOVER_TOOLS;

/// Words that name a call that only looks: neither its success nor its failure is that of the user's wish.
const LOOKS: &[&str] = &[
    "get",
    "find",
    "list",
    "search",
    "lookup",
    "look",
    "read",
    "fetch",
    "query",
    "check",
    "show",
    "view",
    "describe",
    "retrieve",
    "load",
    "inspect",
    "verify",
    "validate",
    "count",
    "browse",
    "open",
    "scan",
    "calculate",
    "calc",
    "compute",
    "convert",
    "think",
    "plan",
    "reason",
    "reflect",
    "know",
    "knowledge",
    "retrieval",
    "recall",
    "preview",
    "estimate",
    "track",
    "status",
    "info",
    "details",
    "help",
    "ping",
];

/// Whether a call of it changes something outside. A name that says nothing counts as one that changes.
pub fn changes_state(name: &str) -> bool {
    // "orders.get" and "crm__get" say what they do behind the name of their server.
    let own = name.rsplit(['.', '/', ':']).next().unwrap_or(name);
    let own = own.rsplit("__").next().unwrap_or(own);
    let first = parts(own).next().unwrap_or_default();
    !name.trim().is_empty() && !LOOKS.contains(&first.as_str()) && !hands_over(name)
}

pub fn hands_over(name: &str) -> bool {
    let name = name.to_lowercase();
    HANDOVER_TOOLS.iter().any(|part| name.contains(part))
}

/// The words of a name: `getOrder`, `orders.get` and `get_order` all have "get".
pub fn parts(name: &str) -> impl Iterator<Item = String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for c in name.chars() {
        if !c.is_alphanumeric() || (was_lower && c.is_uppercase()) {
            words.push(String::new());
        }
        if c.is_alphanumeric()
            && let Some(word) = words.last_mut()
        {
            word.extend(c.to_lowercase());
        }
        was_lower = c.is_lowercase();
    }
    words.into_iter().filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_whether_a_call_changes_something() {
        for looks in [
            "get_order",
            "getOrder",
            "search",
            "list-files",
            "orders.get",
            "crm__find",
            "transfer_to_human_agents",
            "",
        ] {
            assert!(!changes_state(looks), "{looks}");
        }
        for changes in ["cancel_order", "createTicket", "refund", "update-address", "send_mail"] {
            assert!(changes_state(changes), "{changes}");
        }
        assert_eq!(parts("sendHTMLMail_now").collect::<Vec<_>>(), ["send", "htmlmail", "now"]);
    }
}
