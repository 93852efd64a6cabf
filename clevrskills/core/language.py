"""Prompts in words alone."""

from __future__ import annotations

from clevrskills.errors import ClevrSkillsError
from clevrskills.sim.prompt import Prompt

KEYSTEP_TASKS = (
    "match_pose",
    "move_without_hitting",
    "follow_order",
    "follow_order_restore",
    "rearrange",
    "rearrange_restore",
)
"""Tasks that the paper leaves out where prompts are in words alone, as their point is to show what
is to be done by pictures of key-steps (ClevrSkills paper, section 5, Table 5)."""
_KEYSTEP = "{ks:"


def in_words(prompt: Prompt) -> str | None:
    """The prompt in words; if its own text shows key-steps, another text that asks for the same;
    ``None`` if there is none.
    """
    for text in (prompt.text, *prompt.others):
        if _KEYSTEP not in text:
            return prompt.plain(text)
    return None


def say(prompt: Prompt) -> str:
    """The prompt in words.

    Raises:
        ClevrSkillsError: It can only be shown.
    """
    words = in_words(prompt)
    if words is None:
        raise ClevrSkillsError(f"{prompt.text!r} cannot be said in words alone")
    return words
