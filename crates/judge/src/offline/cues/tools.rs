//! Names of handover tools, and statuses of failed tool calls.

/// Parts of the names of tools that hand over.
pub const HANDOVER_TOOLS: &[&str] = &[
    "escalat",
    "handoff",
    "hand_off",
    "handover",
    "hand_over",
    "transfer_to",
    "to_human",
    "human_agent",
];

/// Statuses of tool calls that failed.
pub const TOOL_FAILED: &[&str] = &[
    "error",
    "failed",
    "failure",
    "fail",
    "timeout",
    "timed_out",
    "exception",
    "denied",
    "unavailable",
    "cancelled",
];
