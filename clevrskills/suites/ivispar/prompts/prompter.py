"""Prompter of boards, with text or images."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from clevrskills.agents.prompter import message, write_action
from clevrskills.assets.tables import read_texts
from clevrskills.core.policy import ImagePart, Message, Observation, PromptInput, TextAction
from clevrskills.core.replies import read_reply
from clevrskills.errors import with_defaults
from clevrskills.suites.ivispar.board import DIRECTIONS
from clevrskills.suites.ivispar.commands import canonical, drawn_shape
from clevrskills.suites.ivispar.views import SINGLE, VIEWS, as_past, in_one

_EXAMPLES = 4
_SECTIONS: Mapping[str, Sequence[str]] = {
    "role": ("n",),
    "cells": ("last",),
    "listing": ("n",),
    "form": ("form", "words", "examples"),
    "past_in_one": ("title",),
    "result": ("message",),
    "turn": ("number",),
    **dict.fromkeys(("form_geoms", "form_tiles", "form_listing", "explain", "plain", "notes"), ()),
    **dict.fromkeys(("goal", "current", "past", "all_in_one", "captions", "single"), ()),
    **dict.fromkeys(("again", "reply"), ()),
}
"""Sections of the prompt, and the placeholders of each."""
_FILE = Path(__file__).with_name("sections.toml")


def section(name: str, **slots: Any) -> str:
    """Return a section with its placeholders filled.

    Raises:
        ClevrSkillsError: The file of sections is invalid.
    """
    return read_texts(_FILE, _SECTIONS)[name].format(**slots)


class BoardPrompter:
    """Prompter of a puzzle: rules, up to two past boards with their commands, goal, current board.

    Args:
        options: ``explain``: whether to ask for an explanation before the action.

    Raises:
        UnknownArgumentError: An option is unknown.
        ClevrSkillsError: The value of an option is not allowed.
    """

    views: Sequence[str] = ("text", "text@goal")
    history = 2

    def __init__(self, options: Mapping[str, Any]) -> None:
        self._explain = with_defaults(options, explain=True)["explain"]
        self.reply_tokens = 200 if self._explain else 10

    def begin(self, prompt: PromptInput) -> None:
        self._about = prompt.about

    def messages(
        self, observation: Observation, history: Sequence[tuple[Observation, TextAction]]
    ) -> list[Message]:
        views = observation["views"]
        drawn = any(VIEWS[name].drawn for name in views)
        shown = [Message("system", (self._system(drawn, any(map(_is_text, views))),))]
        results = {turn["index"]: turn for turn in observation["turns"]}
        past = history[-self.history :] if self.history else ()
        parts: list[str | ImagePart] = []
        for k, (seen, answer) in enumerate(past):
            parts += self._boards(seen, "past", f"past_{len(past) - k}")
            turn = results[seen["turn"]]
            action = write_action(answer.action) if answer.action else turn["action"]
            shown += [message("user", parts), message("assistant", [action])]
            parts = [section("result", message=turn["message"])] if turn["message"] else []
        if SINGLE in views:
            before = [seen["views"][SINGLE] for seen, _ in past]
            parts += [section("all_in_one"), ImagePart("boards", in_one(views[SINGLE], before))]
        if not self._listing:
            parts += self._boards(observation, "goal", "goal", goal=True)
        parts += self._boards(observation, "current", "current")
        parts.append(section("turn", number=observation["turn"] + 1))
        shown.append(message("user", [*parts, self._ask(bool(past), views)]))
        return shown

    def parse(self, reply: str) -> TextAction:
        return read_reply(reply, canonical)

    def reply(self, action: str, plan: Sequence[str] = ()) -> str:
        return f"{section('reply')}\n{write_action(action)}"

    def random(self, generator: np.random.Generator) -> str:
        """Return a random command with the words of the set, or a listing of one piece."""
        about, n = self._about, self._about["size"]
        direction = str(generator.choice(DIRECTIONS))
        if about["task"] == "tiles":
            return f"move tile {generator.integers(1, n * n)} {direction}"
        words = f"{generator.choice(about['colors'])} {generator.choice(about['shapes'])}"
        if self._listing:
            return f"{chr(ord('A') + generator.integers(n))}{generator.integers(1, n + 1)} {words}"
        return f"move {words} {direction}"

    @property
    def _listing(self) -> bool:
        return bool(self._about["task"] == "listing")

    @property
    def _format(self) -> str:
        return section(f"form_{self._about['task']}")

    def _system(self, drawn: bool, in_text: bool) -> str:
        """Return the rules, which are the same in all episodes of a set."""
        about, n = self._about, self._about["size"]
        shapes = [drawn_shape(shape) if drawn else shape for shape in about["shapes"]]
        words = [f"Colors: {', '.join(about['colors'])}", f"Shapes: {', '.join(shapes)}"]
        pairs = zip(about["colors"], shapes, DIRECTIONS, strict=False)
        examples = [f"move {color} {shape} {way}" for color, shape, way in pairs][:_EXAMPLES]
        if about["task"] == "tiles":
            words = [f"Numbers: 1 to {n * n - 1}"]
            examples = [f"move tile {k + 1} {way}" for k, way in enumerate(DIRECTIONS)]
        if not self._listing:
            words.append(f"Directions: {', '.join(DIRECTIONS)}")
        sections = [section("listing" if self._listing else "role", n=n)]
        if in_text or self._listing:
            sections.append(section("cells", last=f"{chr(ord('A') + n - 1)}{n}"))
        if self._listing:
            examples = [f"A1 {about['colors'][0]} {shapes[0]}; B3 {about['colors'][1]} {shapes[1]}"]
        texts = {"words": "\n".join(words), "examples": "\n".join(examples)}
        sections.append(section("form", form=self._format, **texts))
        if not self._listing:
            sections.append(section("notes"))
        return "\n\n".join(sections)

    def _boards(
        self, seen: Observation, which: str, name: str, goal: bool = False
    ) -> list[str | ImagePart]:
        """Return the parts that show a board in all its views."""
        parts: list[str | ImagePart] = []
        views = {v: shown for v, shown in seen["views"].items() if VIEWS[v].goal == goal}
        images = [v for v in views if not _is_text(v) and v != SINGLE]
        title, past = section(which), which == "past"
        for view, shown in views.items():
            if view == SINGLE:
                parts += [section("past_in_one", title=title)] if past else []
            elif _is_text(view):
                parts.append(f"{title}:\n{shown}")
            else:
                label = name if len(images) == 1 else f"{name}_{view}"
                parts += [f"{title}:", ImagePart(label, as_past(shown) if past else shown)]
        return parts

    def _ask(self, past: bool, views: Mapping[str, Any]) -> str:
        """Return the request of each turn."""
        lines = []
        if not all(map(_is_text, views)):
            lines.append(section("captions"))
        if SINGLE in views:
            lines.append(section("single"))
        if past:
            lines.append(section("again"))
        lines += [section("explain" if self._explain else "plain"), write_action(self._format)]
        return "\n".join(lines)


def _is_text(view: str) -> bool:
    return VIEWS[view].base == "text"
