"""Prompter of LoHoRavens: asks a language model for one instruction at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from clevrskills.agents.prompter import message
from clevrskills.assets.tables import check_slots, check_table, read_toml
from clevrskills.core.policy import ImagePart, Message, Observation, PromptInput, TextAction
from clevrskills.core.replies import read_reply
from clevrskills.errors import whole_number, with_defaults
from clevrskills.suites.lohoravens.field import AREAS, BESIDE_M, SIDES
from clevrskills.suites.lohoravens.interfaces.grammar import DONE_COMMAND, FORMS, canonical
from clevrskills.suites.lohoravens.interfaces.words import PICK_PLACE_TEXT
from clevrskills.suites.lohoravens.palette import ALL_COLORS

INSTRUCTION = "Instruction:"
"""Marker of an instruction, on a line of its own."""
DONE = "Done"
GOAL = "Goal"
SEEN = "What is on the table now"

_FILE = Path(__file__).with_name("sections.toml")
_SECTIONS: Mapping[str, Sequence[str]] = {
    "role": (),
    "areas": ("areas", "sides", "distance"),
    "rules": ("done",),
}
"""Sections and their slots."""
_EXAMPLE: Mapping[str, type] = dict.fromkeys(("task", "goal", "seen", "reply"), str)


@cache
def texts() -> tuple[Mapping[str, str], Sequence[Mapping[str, str]]]:
    """Return the sections of the prompt and its worked examples.

    Raises:
        ClevrSkillsError: The file is invalid.
    """
    data = read_toml(_FILE)
    check_table(str(_FILE), data, {**dict.fromkeys(_SECTIONS, str), "example": list})
    for name, slots in _SECTIONS.items():
        check_slots(f"{_FILE}: {name}", data[name], slots)
    examples = data.pop("example")
    for number, table in enumerate(examples, 1):
        check_table(f"{_FILE}: example {number}", table, _EXAMPLE)
    return data, tuple(examples)


class FieldPrompter:
    """Prompter of an episode.

    The system prompt has the role, forms, colors, areas, rules and examples. The message of each
    turn has the goal, past instructions and outcomes, and the observation.

    Args:
        options: ``examples``, the number of examples, by default all.

    Raises:
        UnknownArgumentError: There is no such option.
        ClevrSkillsError: A value is not allowed.
    """

    views: Sequence[str] = ("caption_change",)
    history, reply_tokens = 20, 25

    def __init__(self, options: Mapping[str, Any]) -> None:
        self._sections, examples = texts()
        count = with_defaults(options, examples=len(examples))["examples"]
        self._examples = examples[: whole_number("examples", count, len(examples))]

    def begin(self, prompt: PromptInput) -> None:
        """Begin an episode."""
        self._goal = prompt.text

    def messages(
        self, observation: Observation, history: Sequence[tuple[Observation, TextAction]]
    ) -> list[Message]:
        """Return the messages to the model."""
        parts: list[str | ImagePart] = [f"{GOAL}: {self._goal}"]
        past = observation["turns"][-self.history :] if self.history else ()
        if past:
            lines = (_past(turn) for turn in past)
            parts.append("\n".join(("Your instructions so far:", *lines)))
        for name, view in observation.get("views", {}).items():
            of = "in words" if name.startswith("caption") else name.replace("_", " ")
            title = f"{SEEN} ({of}):"
            parts += (
                [f"{title}\n{view}"] if isinstance(view, str) else [title, ImagePart(name, view)]
            )
        form = f"{INSTRUCTION} <instruction>\nor, if the goal is reached:\n{DONE}"
        parts.append(f"What is the next instruction? Reply with one line:\n{form}")
        return [Message("system", (self._system(),)), message("user", parts)]

    def _system(self) -> str:
        """Return the system prompt, which is the same for all turns and episodes."""
        forms = [f"- {form}" for form in FORMS if form != DONE_COMMAND]
        examples = [
            f"{GOAL}: {each['goal']}\nSeen: {each['seen']}.\n{_marked(each['reply'])}"
            for each in self._examples
        ]
        areas = self._sections["areas"].format(
            areas=", ".join((*AREAS, "free area (any free place)")),
            sides=", ".join(SIDES),
            distance=f"{100 * BESIDE_M:.0f} cm",
        )
        sections = [
            self._sections["role"],
            "\n".join(("Forms of instructions:", *forms)),
            f"Colors: {', '.join(ALL_COLORS)}.",
            areas,
            "\n".join(("Rules:", self._sections["rules"].format(done=DONE))),
        ]
        if examples:
            sections.append("\n\n".join(("Examples:", *examples)))
        return "\n\n".join(sections)

    def parse(self, reply: str) -> TextAction:
        """Return the instruction of a reply."""
        return read_reply(reply, canonical)

    def reply(self, action: str, plan: Sequence[str] = ()) -> str:
        """Return a reply with an action."""
        return _marked(DONE if action == DONE_COMMAND else action)

    def random(self, generator: np.random.Generator) -> str:
        """Return a random instruction of the grammar."""
        return PICK_PLACE_TEXT.random(generator)


def _marked(instruction: str) -> str:
    """Return a reply with an instruction, or ``Done``."""
    return instruction if instruction == DONE else f"{INSTRUCTION} {instruction}"


def _past(turn: Mapping[str, Any]) -> str:
    outcome = f" ({turn['message']})" if turn["message"] else ""
    return f"{turn['index'] + 1}. {turn['action']}{outcome}"
