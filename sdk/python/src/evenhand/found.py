"""The answer of a search."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, List, Mapping, Optional

from . import types


@dataclass(frozen=True)
class Found:
    """Learnings for a question. Empty when nothing fits, when a holdout withholds them, or when the search failed."""

    profiles: List[types.Profile] = field(default_factory=list)
    user_playbooks: List[types.UserPlaybook] = field(default_factory=list)
    agent_playbooks: List[types.AgentPlaybook] = field(default_factory=list)
    # The user's arm while an experiment is active.
    experiment: Optional[types.Attribution] = None
    # Why the search failed; None when it did not.
    error: Optional[str] = None

    def __bool__(self) -> bool:
        return bool(self.profiles or self.user_playbooks or self.agent_playbooks)

    def text(self) -> str:
        """The learnings as lines for a prompt; empty without any."""
        lines = [f"- {profile['content']}" for profile in self.profiles]
        for playbook in (*self.user_playbooks, *self.agent_playbooks):
            trigger = playbook.get("trigger")
            lines.append(f"- When {trigger}: {playbook['content']}" if trigger else f"- {playbook['content']}")
        return "\n".join(lines)

    def references(self) -> List[Dict[str, Any]]:
        """The references a turn carries to say that it was made with these learnings."""
        return [
            *({"kind": "profile", "learning_id": one["profile_id"]} for one in self.profiles),
            *({"kind": "user_playbook", "learning_id": str(one["user_playbook_id"])} for one in self.user_playbooks),
            *({"kind": "agent_playbook", "learning_id": str(one["agent_playbook_id"])} for one in self.agent_playbooks),
        ]


def found(answer: Mapping[str, Any]) -> Found:
    return Found(
        profiles=list(answer.get("profiles") or []),
        user_playbooks=list(answer.get("user_playbooks") or []),
        agent_playbooks=list(answer.get("agent_playbooks") or []),
        experiment=answer.get("experiment"),
    )
