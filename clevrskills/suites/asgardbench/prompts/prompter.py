"""Prompter of the household: rules and examples, notes, current observation."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from clevrskills.agents.prompter import message
from clevrskills.core.policy import ImagePart, Message, Observation, PromptInput, TextAction
from clevrskills.core.replies import answer_of, clean_command, read_reply
from clevrskills.errors import UnknownNameError, with_defaults
from clevrskills.suites.asgardbench.prompts.texts import examples, section
from clevrskills.suites.asgardbench.rules.verbs import VERBS, canonical

STATE = "text_state"
TASK, OBJECTS, NOTES = "YOUR TASK", "AVAILABLE OBJECTS", "YOUR NOTES"
REMEMBERED = "What you wanted to remember:"
PLAN, MEMORY, VIEW = "SUGGESTED PLAN", "THINGS TO REMEMBER", "WHAT IS BEFORE YOU"
PREVIOUS = ("color", "grey", "none")
_NUMBER = re.compile(r"^\s*(?:\d+\s*[.):]|[-*•])\s*")


class HousePrompter:
    """Prompter of an instance: verbs, rules and examples; then the task, the objects, past actions
    and results, the last plan and memory, and the current observation.

    Args:
        options: ``images``: whether images are shown; ``previous``: whether the image before the
            last action is shown in ``color``, ``grey`` or not at all (``none``); ``hand``: whether
            images show a hand; ``memory``, ``plan``: whether these are requested; ``hints``:
            whether hints for acting without images are given.

    Raises:
        UnknownArgumentError: An option is unknown.
        ClevrSkillsError: The value of an option is not allowed.
    """

    history = 1

    def __init__(self, options: Mapping[str, Any]) -> None:
        switches = {"images": True, "hand": True, "memory": True, "plan": True, "hints": False}
        chosen = with_defaults(options, previous=PREVIOUS[0], **switches)
        self._previous, self._hand = chosen["previous"], chosen["hand"]
        self._memory, self._plan, self._hints = chosen["memory"], chosen["plan"], chosen["hints"]
        if self._previous not in PREVIOUS:
            raise UnknownNameError("previous", self._previous, PREVIOUS)
        self.reply_tokens = 100 + 110 * self._plan + 30 * self._memory  # as in the worked examples
        self.views: Sequence[str] = ("first_person",) if chosen["images"] else ()

    def begin(self, prompt: PromptInput) -> None:
        self._task, self._objects = prompt.text, tuple(prompt.about["objects"])

    def messages(
        self, observation: Observation, history: Sequence[tuple[Observation, TextAction]]
    ) -> list[Message]:
        feedback = observation.get("feedback", "simple")
        views = observation.get("views") or {}
        given = "images" if any(name != STATE for name in views) else ""
        given = given or ("state" if STATE in views else "text")
        parts: list[str | ImagePart] = [
            f"{TASK}\n{self._task}",
            f"{OBJECTS}\n{', '.join(self._objects)}",
            self._notes(observation, history),
        ]
        parts += self._view_parts(views, history)
        parts.append("What is your next action?")
        return [Message("system", (self.rules(given, feedback),)), message("user", parts)]

    def rules(self, given: str, feedback: str) -> str:
        """Return the system prompt, which is the same in all episodes.

        Args:
            given: Kind of observations: ``images``, ``state`` or ``text``.
            feedback: Feedback mode.
        """
        verbs = "\n".join(f"- {verb}: {section(f'verb_{verb}')}" for verb in VERBS)
        same = f": let it be the first one of your {PLAN}" if self._plan else ""
        rules = [
            section(f"notice_{given}", hand=section(f"hand_{'drawn' if self._hand else 'absent'}")),
            *([section("hints")] if self._hints else []),
            section(f"feedback_{feedback}"),
            *([section("plan")] if self._plan else []),
            *([section("memory")] if self._memory else []),
            section("always", same=same),
        ]
        form = [section("think", observations=section(f"observations_{given}"))]
        form += [section("plan_form")] if self._plan else []
        form += [section("memory_form")] if self._memory else []
        form += ["Action: VERB Object\n</answer>"]
        shown = [self._example(k, e, given, feedback) for k, e in enumerate(examples(), 1)]
        return "\n\n".join(
            [
                section("role", senses=section(f"senses_{given}")),
                f"# Actions\n{section('actions', verbs=verbs)}",
                f"# Rules of the world\n{section('world')}",
                "# How to work\n" + "\n".join(rules),
                "# How to answer\nAnswer in this form, and in no other:\n\n" + "\n\n".join(form),
                "# Examples\nThree turns of other episodes.",
                *shown,
            ]
        )

    def parse(self, reply: str) -> TextAction:
        """Parse a reply: the last action of its answer, its plan and memory."""
        answer = answer_of(reply)
        steps = (_NUMBER.sub("", line) for line in _under(answer, PLAN)) if self._plan else ()
        plan = tuple(step for line in steps if (step := canonical(clean_command(line))))
        memory = "\n".join(_under(answer, MEMORY)) if self._memory else ""
        return replace(read_reply(reply, canonical), plan=plan, memory=memory)

    def reply(self, action: str, plan: Sequence[str] = ()) -> str:
        """Return a reply that gives an action and its plan in the requested format."""
        planned = bool(plan) and plan[0] == action
        left = list(plan) if planned else [action]
        seen = "Observations: noted, and so is what came of the last action."
        memory = [f"Next: {action}."]
        if planned:
            memory.append(f"Left after that: {len(left) - 1} actions.")
        lines = ["<think>", seen, f"Reasoning: next comes {action}.", "</think>"]
        return "\n".join([*lines, self.answer(action, left, memory)])

    def random(self, generator: np.random.Generator) -> str:
        """Return any verb with any object."""
        return f"{generator.choice(VERBS)} {generator.choice(self._objects)}"

    def answer(self, action: str, plan: Sequence[str], memory: Sequence[str]) -> str:
        """Return the answer of a reply: plan and memory, if requested, and action."""
        lines = ["<answer>"]
        if self._plan:
            lines += [f"{PLAN}:", *(f"{k}. {step}" for k, step in enumerate(plan, 1))]
        if self._memory:
            lines += [f"{MEMORY}:", *(f"- {line}" for line in memory)]
        return "\n".join([*lines, f"Action: {action}", "</answer>"])

    def _example(self, number: int, example: Mapping[str, Any], given: str, feedback: str) -> str:
        failure = f"Failure. {example['why']}" if feedback == "detailed" else "Failure."
        outcomes = ["Success."] * (len(example["past"]) - 1) + [failure]
        lines = [f"## Example {number}: {example['title']}", f"{TASK}\n{example['task']}", ""]
        lines += _numbered(
            example["past"], outcomes if feedback != "none" else [""] * len(outcomes)
        )
        sure = given == "text" and feedback == "none"
        lines += [
            "",
            "<think>",
            f"Observations: {example[f'seen_{given}']}",
            f"Inventory: {'I think ' if sure else 'I hold '}{example['held']}",
            f"Last action: {example[f'last_{feedback}']}",
            f"Reasoning: {example[f'reasoning_{given}']}",
            "</think>",
            self.answer(example["plan"][0], example["plan"], example["memory"]),
        ]
        return "\n".join(lines)

    def _notes(
        self, observation: Observation, history: Sequence[tuple[Observation, TextAction]]
    ) -> str:
        turns = observation["turns"]
        if not turns:
            return f"{NOTES}\nThis is your first action."
        lines = [NOTES, "Past actions:"]
        lines += _numbered([t["action"] for t in turns], [t["message"] for t in turns])
        last = history[-1][1] if history else TextAction("")
        if self._plan and last.plan:
            lines += ["", "Your plan of the last turn (your own proposal, check it again):"]
            lines += [f"{k}. {step}" for k, step in enumerate(last.plan, 1)]
        if self._memory and last.memory:
            lines += ["", REMEMBERED, last.memory]
        return "\n".join(lines)

    def _view_parts(
        self, views: Mapping[str, Any], history: Sequence[tuple[Observation, TextAction]]
    ) -> list[str | ImagePart]:
        parts: list[str | ImagePart] = []
        for name, view in views.items():
            if name == STATE:
                parts.append(f"{VIEW}\n{view}")
                continue
            before = (history[-1][0].get("views") or {}).get(name) if history else None
            if before is not None and self._previous != "none":
                shown = _grey(before) if self._previous == "grey" else before
                parts += ["Before your last action:", ImagePart("previous", shown)]
            parts += ["Now:", ImagePart("current", view)]
        return parts


def _numbered(actions: Sequence[str], messages: Sequence[str]) -> list[str]:
    pairs = enumerate(zip(actions, messages, strict=True), 1)
    return [f"{k}. {action}{f' - {what}' if what else ''}" for k, (action, what) in pairs]


def _under(text: str, header: str) -> list[str]:
    """Return the lines under a header, up to a blank line, the next header or the action."""
    lines: list[str] = []
    inside = False
    for line in text.splitlines():
        bare = line.strip().strip("*#_ ").upper()
        if bare.rstrip(":").startswith((PLAN, MEMORY)) or bare.startswith("ACTION:"):
            inside = bare.startswith(header)
        elif inside and line.strip():
            lines.append(line.strip())
        elif lines:
            inside = False
    return lines


def _grey(image: np.ndarray) -> np.ndarray:
    grey = (image.astype(np.float32) @ np.array([0.299, 0.587, 0.114], np.float32)).round()
    return np.repeat(grey.astype(np.uint8)[..., None], 3, axis=-1)
