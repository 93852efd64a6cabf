"""Scripted models: reply in place of a language model, to test prompts, parsers and runs."""

from __future__ import annotations

import importlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from clevrskills.agents.client import Reply
from clevrskills.agents.messages import digest, tokens_of
from clevrskills.core.interface import Interface
from clevrskills.core.policy import Message, PolicyError, Prompter, PromptInput
from clevrskills.core.suite import Suite
from clevrskills.errors import ClevrSkillsError, UnknownNameError, one_line
from clevrskills.solvers.requirements import require_oracle

GARBAGE = (
    "I would rather think about this for a while.",
    "action:",
    "action: ???",
    '{"action": "',
    "action: please do whatever helps most",
    "<think>The board is full and so",
    "```\nstep(1, 2)\n```",
    "   \n",
)
"""Replies that say nothing that can be done, of eight kinds."""
FUNCTIONS = ("garbage", "fixed:TEXT", "module:function")
"""Names of functions that reply."""
NAMES = ("oracle", "random", "script:FILE", *FUNCTIONS)
"""Names of scripted models."""

ReplyFunction = Callable[[Sequence[Message]], str]
"""Function of messages that replies to them, from their content alone."""
_FUNCTION = re.compile(r"[^\W\d][\w.]*:[^\W\d]\w*")


class OracleModel:
    """Model that replies with the next action of the suite's oracle.

    Args:
        suite: What it acts in.
        interface: What it acts by.
        prompter: Knows the format of replies.
    """

    def __init__(self, suite: Suite, interface: Interface, prompter: Prompter) -> None:
        require_oracle(suite)
        self._suite, self._interface, self._prompter = suite, interface, prompter

    def begin(self, prompt: PromptInput, env: Any = None) -> None:
        """Begin an episode."""
        self._oracle = self._suite.oracle(env, self._interface)

    def answer(self, messages: Sequence[Message]) -> Reply:
        """Return the next reply."""
        action = str(self._oracle.act())
        plan: Sequence[str] = getattr(self._oracle, "plan", ())
        return counted(messages, self._prompter.reply(action, plan))


class RandomModel:
    """Model that replies with random actions of the interface.

    Args:
        prompter: Knows what that is.
    """

    def __init__(self, prompter: Prompter) -> None:
        self._prompter = prompter

    def begin(self, prompt: PromptInput, env: Any = None) -> None:
        """Begin an episode."""
        self._generator = np.random.default_rng(prompt.seed)

    def answer(self, messages: Sequence[Message]) -> Reply:
        """Return the next reply."""
        action = self._prompter.random(self._generator)
        return counted(messages, self._prompter.reply(action))


class FunctionModel:
    """Model whose replies a function computes from the messages.

    Args:
        reply: The function.
    """

    def __init__(self, reply: ReplyFunction) -> None:
        self._reply = reply

    def begin(self, prompt: PromptInput, env: Any = None) -> None:
        """Begin an episode."""

    def answer(self, messages: Sequence[Message]) -> Reply:
        """Return the next reply.

        Raises:
            PolicyError: It finds nothing to reply to.
        """
        try:
            text = self._reply(messages)
        except ClevrSkillsError as error:
            raise PolicyError(str(error)) from None
        return counted(messages, text)


class Script:
    """Model that replies with the lines of a file, from its beginning in each episode.

    Args:
        path: The file, see :func:`read_script`.

    Raises:
        ClevrSkillsError: It cannot be read, or holds answers of a server.
    """

    def __init__(self, path: Path) -> None:
        self._replies = []
        for entry in read_script(path):
            if not isinstance(entry, str):
                raise ClevrSkillsError(f"{path} holds answers of a server; see chat-stub")
            self._replies.append(entry)

    def begin(self, prompt: PromptInput, env: Any = None) -> None:
        """Begin an episode."""
        self._turn = 0

    def answer(self, messages: Sequence[Message]) -> Reply:
        """Return the next reply; after the last one the first."""
        self._turn += 1
        return counted(messages, self._replies[(self._turn - 1) % len(self._replies)])


def garbage(messages: Sequence[Message]) -> str:
    """Return one of :data:`GARBAGE`: always the same for the same messages, each equally often."""
    return GARBAGE[int(digest(messages)[:8], 16) % len(GARBAGE)]


def read_script(path: Path) -> list[str | Mapping[str, Any]]:
    """Return the replies of a script: one a line, as it is or as a text of JSON; an object of JSON
    is the answer of a server.

    Raises:
        ClevrSkillsError: It cannot be read, or is empty.
    """
    try:
        lines = path.read_text(encoding="utf-8").removesuffix("\n").split("\n")
    except (OSError, ValueError) as error:
        raise ClevrSkillsError(f"script {path}: {error}") from None
    replies: list[str | Mapping[str, Any]] = []
    for line in lines:
        try:
            entry = json.loads(line)
        except ValueError:
            entry = line
        replies.append(entry if isinstance(entry, str | dict) else line)
    if lines == [""]:
        raise ClevrSkillsError(f"script {path} is empty")
    return replies


def reply_function(name: str) -> ReplyFunction | None:
    """Return the function that one of :data:`FUNCTIONS` names; ``None``: it is none of them.

    Raises:
        ClevrSkillsError: The module or the function cannot be imported.
    """
    kind, _, rest = name.partition(":")
    if name == "garbage":
        return garbage
    if kind == "fixed" and rest:
        return lambda _: rest
    if not _FUNCTION.fullmatch(name):
        return None
    try:
        found: ReplyFunction = getattr(importlib.import_module(kind), rest)
    except (ImportError, AttributeError) as error:
        raise ClevrSkillsError(f"model {name}: {one_line(error)}") from None
    return found


def scripted_model(name: str, suite: Suite, interface: Interface, prompter: Prompter) -> Any:
    """Return the model of a name, one of :data:`NAMES`.

    Raises:
        ClevrSkillsError: There is none of this name, or it cannot be made.
    """
    kind, _, rest = name.partition(":")
    if name == "oracle":
        return OracleModel(suite, interface, prompter)
    if name == "random":
        return RandomModel(prompter)
    if kind == "script" and rest:
        return Script(Path(rest))
    if reply := reply_function(name):
        return FunctionModel(reply)
    raise UnknownNameError("model", name, ["http://…", "https://…", *NAMES])


def counted(messages: Sequence[Message], text: str) -> Reply:
    """Return a reply with the tokens that it would cost, about; one of blanks is empty."""
    replied = tokens_of([Message("assistant", (text,))])
    usage = {"prompt_tokens": tokens_of(messages), "completion_tokens": replied}
    return Reply(text if text.strip() else "", {"requests": 1, **usage})
