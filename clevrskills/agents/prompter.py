"""Default prompter of suites, and the formats of actions and messages that prompters share."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Literal

import numpy as np

from clevrskills.core.interface import TextInterface
from clevrskills.core.policy import ImagePart, Message, Observation, PromptInput, TextAction
from clevrskills.core.replies import read_reply

ACTION = "action:"
"""Marker of the line with the action."""


def write_action(action: str) -> str:
    """Return the line of a reply that gives an action."""
    return f"{ACTION} {action}"


def message(role: Literal["user", "assistant"], parts: Sequence[str | ImagePart]) -> Message:
    """Return a message, with adjacent texts joined by a blank line."""
    joined: list[str | ImagePart] = []
    for part in parts:
        last = joined[-1] if joined else None
        if isinstance(part, str) and isinstance(last, str):
            joined[-1] = f"{last}\n\n{part}"
        else:
            joined.append(part)
    return Message(role, tuple(joined))


class PlainPrompter:
    """Prompter for any suite with text commands: task and images, commands, results of the last
    turns, current observation.

    Args:
        interface: Action interface.
        views: Names of the views that are shown by default.
    """

    history, reply_tokens = 2, 50

    def __init__(self, interface: TextInterface, views: Sequence[str] = ()) -> None:
        self._interface = interface
        self.views: Sequence[str] = tuple(views)

    def begin(self, prompt: PromptInput) -> None:
        spec = self._interface.spec
        known = [f"{name}: {_listed(value)}" for name, value in spec.items()]
        format_ = f"End your reply with one line of its own:\n{write_action('<command>')}"
        about = self._interface.sentence or "One command each turn."
        self._system = "\n".join([f"Task: {prompt.text}", "", about, *known, "", format_])
        self._images = prompt.images

    def messages(
        self, observation: Observation, history: Sequence[tuple[Observation, TextAction]]
    ) -> list[Message]:
        lines = [
            f"Turn {turn['index'] + 1}: {turn['action']}. {turn['message']}"
            for turn in observation["turns"][-self.history :]
        ]
        parts: list[str | ImagePart] = []
        for name, image in self._images.items():
            parts += [f"Image of the task ({name}):", ImagePart(name, image)]
        if lines:
            parts.append("\n".join(["Last turns:", *lines]))
        for name, view in observation.get("views", {}).items():
            seen = view if isinstance(view, str) else ImagePart(name, view)
            parts += [f"What is seen now ({name}):", seen]
        last = f"Turn {observation['turn'] + 1}. What do you do?"
        return [Message("system", (self._system,)), message("user", [*parts, last])]

    def parse(self, reply: str) -> TextAction:
        return read_reply(reply, self._interface.grammar)

    def reply(self, action: str, plan: Sequence[str] = ()) -> str:
        return f"This is the next step.\n{write_action(action)}"

    def random(self, generator: np.random.Generator) -> str:
        return str(self._interface.random(generator))


def _listed(value: object) -> str:
    if isinstance(value, str):
        return value
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else json.dumps(value)
