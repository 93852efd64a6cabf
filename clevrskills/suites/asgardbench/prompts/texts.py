"""Sections and worked examples of the prompt, from TOML files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from clevrskills.assets.tables import check_table, read_texts, read_toml
from clevrskills.suites.asgardbench.rules.verbs import VERBS

_FILE = Path(__file__).with_name("sections.toml")
_GIVEN = ("images", "state", "text")
_FEEDBACK = ("none", "simple", "detailed")
_SECTIONS: Mapping[str, Sequence[str]] = {
    "role": ("senses",),
    "actions": ("verbs",),
    "always": ("same",),
    "think": ("observations",),
    **{f"notice_{given}": ("hand",) for given in _GIVEN},
    **{f"{name}_{given}": () for name in ("senses", "observations") for given in _GIVEN},
    **{f"feedback_{mode}": () for mode in _FEEDBACK},
    **{f"verb_{verb}": () for verb in VERBS},
    **dict.fromkeys(("hand_drawn", "hand_absent", "plan_form", "memory_form"), ()),
    **dict.fromkeys(("world", "hints", "memory", "plan"), ()),
}
"""Sections of the prompt, and the placeholders of each."""
_EXAMPLE: Mapping[str, type] = {
    **dict.fromkeys(("title", "task", "why", "held"), str),
    **dict.fromkeys(("past", "plan", "memory"), list),
    **dict.fromkeys((f"{name}_{given}" for name in ("seen", "reasoning") for given in _GIVEN), str),
    **dict.fromkeys((f"last_{mode}" for mode in _FEEDBACK), str),
}
"""Fields of an example, and their types."""


def section(name: str, **slots: str) -> str:
    """Return a section with its placeholders filled.

    Raises:
        ClevrSkillsError: The file of sections is invalid.
    """
    return read_texts(_FILE, _SECTIONS)[name].format(**slots)


@cache
def examples() -> Sequence[Mapping[str, Any]]:
    """Return the worked examples, each a turn and a good answer.

    Raises:
        ClevrSkillsError: The file of examples is invalid.
    """
    path = Path(__file__).with_name("examples.toml")
    data = read_toml(path)
    check_table(str(path), data, {"example": list})
    for number, table in enumerate(data["example"], 1):
        check_table(f"{path}: example {number}", table, _EXAMPLE)
    return tuple(data["example"])
