"""Scripted models that stand in for a language model, to test prompts, parsers and runs."""

from __future__ import annotations

import importlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from itertools import cycle
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
"""Replies without a valid command, of eight kinds."""
FUNCTIONS = ("garbage", "fixed:TEXT", "module:function")
"""Names of reply functions."""
NAMES = ("oracle", "random", "script:FILE", *FUNCTIONS)
"""Names of scripted models."""

ReplyFunction = Callable[[Sequence[Message]], str]
"""Function from the messages to the reply."""
_FUNCTION = re.compile(r"[^\W\d][\w.]*:[^\W\d]\w*")


class ScriptedModel:
    """Model whose replies are computed in this process.

    Args:
        start: Function that begins an episode and returns the function that replies in it.
    """

    def __init__(self, start: Callable[[PromptInput, Any], ReplyFunction]) -> None:
        self._start = start

    def begin(self, prompt: PromptInput, env: Any = None) -> None:
        self._reply = self._start(prompt, env)

    def answer(self, messages: Sequence[Message]) -> Reply:
        """Return the next reply, with estimated tokens; a blank reply is empty.

        Raises:
            GaveUp: The oracle gives up.
            PolicyError: A reply function raises :class:`~clevrskills.errors.ClevrSkillsError`.
        """
        text = self._reply(messages)
        replied = tokens_of([Message("assistant", (text,))])
        usage = {"prompt_tokens": tokens_of(messages), "completion_tokens": replied}
        return Reply(text if text.strip() else "", {"requests": 1, **usage})


def garbage(messages: Sequence[Message]) -> str:
    """Return one of :data:`GARBAGE`, chosen uniformly by a hash of the messages."""
    return GARBAGE[int(digest(messages)[:8], 16) % len(GARBAGE)]


def read_script(path: Path) -> list[str | Mapping[str, Any]]:
    """Return the replies of a script, one per line: plain text or a JSON string. A JSON object is a
    response of the server.

    Raises:
        ClevrSkillsError: The file cannot be read, or is empty.
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
    """Return the reply function of a name; ``None``: the name is none of :data:`FUNCTIONS`.

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


def scripted_model(
    name: str, suite: Suite, interface: Interface, prompter: Prompter
) -> ScriptedModel:
    """Return the model of a name, one of :data:`NAMES`.

    Raises:
        ClevrSkillsError: The name is unknown, or the model cannot be made.
    """
    kind, _, rest = name.partition(":")
    if name == "oracle":
        require_oracle(suite)

        def start(prompt: PromptInput, env: Any) -> ReplyFunction:
            oracle = suite.oracle(env, interface)
            return lambda _: prompter.reply(str(oracle.act()), getattr(oracle, "plan", ()))

        return ScriptedModel(start)
    if name == "random":

        def draw(prompt: PromptInput, env: Any) -> ReplyFunction:
            generator = np.random.default_rng(prompt.seed)
            return lambda _: prompter.reply(prompter.random(generator))

        return ScriptedModel(draw)
    if kind == "script" and rest:
        entries = read_script(Path(rest))
        replies = [entry for entry in entries if isinstance(entry, str)]
        if len(replies) < len(entries):
            raise ClevrSkillsError(f"{rest} has responses of a server; see chat-stub")

        def play(prompt: PromptInput, env: Any) -> ReplyFunction:
            following = cycle(replies)
            return lambda _: next(following)

        return ScriptedModel(play)
    if function := reply_function(name):

        def call(messages: Sequence[Message]) -> str:
            try:
                return function(messages)
            except ClevrSkillsError as error:
                raise PolicyError(str(error)) from None

        return ScriptedModel(lambda *_: call)
    raise UnknownNameError("model", name, ["http://…", "https://…", *NAMES])
