"""Chat policy: asks a language model for the action of each turn."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from inspect import signature
from pathlib import Path
from typing import Any

from clevrskills.agents.client import ChatClient, LanguageModel, Reply
from clevrskills.agents.messages import CHARACTERS_PER_TOKEN, budgeted, images_of, tokens_of
from clevrskills.agents.prompter import PlainPrompter
from clevrskills.agents.scripted_models import scripted_model
from clevrskills.agents.transcript import ReplayedModel, TranscriptRecorder
from clevrskills.core.interface import Interface, TextInterface
from clevrskills.core.policy import (
    ImagePart,
    Message,
    Observation,
    ObservationOptions,
    Prompter,
    PromptInput,
    TextAction,
)
from clevrskills.core.policy_loader import check_annotated
from clevrskills.core.replies import REPLIES, first_words
from clevrskills.core.suite import Prompting, Suite, all_interfaces, all_views
from clevrskills.errors import ClevrSkillsError, check_arguments

SCHEMES = ("http://", "https://")
"""URL schemes of endpoints."""
_UNREADABLE = "No action could be read in this reply."
_CUT_OFF = "This reply was cut off before it gave an action."
ENDPOINT = tuple(name for name in signature(ChatClient.__init__).parameters)[2:]
"""Names of the client's arguments."""


class ChatPolicy:
    """Policy that asks a language model.

    Args:
        target: URL of an endpoint, or name of a scripted model, one of
            :data:`~clevrskills.agents.scripted_models.NAMES`.
        suite: Suite, which provides the prompter.
        interface: Action interface.
        replay: Run whose transcripts are replayed in place of the model.
        history: Maximum number of past turns in a request; ``None``: the prompter's default.
        max_images: Maximum number of images in a request; the earliest are left out.
        image_px: Maximum length of the longer side of an image, in pixels.
        price_in: Price of a million prompt tokens.
        price_out: Price of a million completion tokens.
        reply_tokens: Tokens of a reply in estimates; ``None``: the prompter's default.
        prompt: Options of the suite's prompter.
        endpoint: Arguments of :class:`~clevrskills.agents.client.ChatClient`.

    Raises:
        ClevrSkillsError: The interface takes no text commands, or an argument is not allowed.
    """

    def __init__(
        self,
        target: str,
        /,
        suite: Suite,
        interface: Interface,
        replay: str | None = None,
        history: int | None = None,
        max_images: int | None = None,
        image_px: int | None = None,
        price_in: float | None = None,
        price_out: float | None = None,
        reply_tokens: int | None = None,
        prompt: Mapping[str, Any] | None = None,
        **endpoint: Any,
    ) -> None:
        if not isinstance(interface, TextInterface):
            able = [n for n, i in all_interfaces(suite).items() if isinstance(i, TextInterface)]
            raise ClevrSkillsError(
                f"chat:{target} needs text commands; the interface {interface.name} is numeric; "
                f"allowed: --interface {' or '.join(able) or '(none)'}"
            )
        numbers = {
            "history": (history, 0),
            "max_images": (max_images, 0),
            "image_px": (image_px, 8),
            "reply_tokens": (reply_tokens, 0),
        }
        for name, (value, least) in numbers.items():
            if value is not None and value < least:
                raise ClevrSkillsError(f"{name} must be an integer of at least {least}")
        for name, price in (("price_in", price_in), ("price_out", price_out)):
            if price is not None and not 0 <= price < math.inf:
                raise ClevrSkillsError(f"{name} must be the price of a million tokens, at least 0")
        self._prompter = _prompter(suite, interface, prompt or {})
        if history is not None:
            self._prompter.history = history
        self._most, self._largest_px = max_images, image_px
        self.reply_tokens: int = (
            self._prompter.reply_tokens if reply_tokens is None else reply_tokens
        )
        self.prices: tuple[float, float] | None = None
        if price_in is not None or price_out is not None:
            self.prices = float(price_in or 0), float(price_out or 0)
        self.observation = ObservationOptions(
            cameras=(), proprioception=False, views=tuple(self._prompter.views) or None
        )
        self._model = self._make_model(target, suite, interface, replay, endpoint)
        self.concurrency = "threads" if isinstance(self._model, ChatClient) else "none"
        # a replay finds the transcript by the episode's seed
        self.privileged = target == "oracle" or replay is not None
        self.track = "" if target.startswith(SCHEMES) else "none"

    def _make_model(
        self,
        target: str,
        suite: Suite,
        interface: Interface,
        replay: str | None,
        endpoint: Mapping[str, Any],
    ) -> LanguageModel:
        remote = target.startswith(SCHEMES)
        if not remote and replay is None:
            scripted: LanguageModel = scripted_model(target, suite, interface, self._prompter)
        own = [*signature(ChatPolicy.__init__).parameters][4:-1]
        check_arguments(endpoint, [*own, *ENDPOINT] if remote else own)
        if replay is not None:
            return ReplayedModel(Path(replay))
        if not remote:
            return scripted
        if "model" not in endpoint:
            raise ClevrSkillsError("the model has no name; pass --policy-arg model=NAME")
        check_annotated(ChatClient, endpoint)
        return ChatClient(target, **endpoint)

    def reset(self, prompt: PromptInput, *, env: Any = None, episode: Any = None) -> None:
        self._prompter.begin(prompt)
        self._model.begin(prompt, env)
        self._recorder = TranscriptRecorder()
        self._history: list[tuple[Observation, TextAction]] = []
        self._unreadable: dict[int, tuple[str, str]] = {}

    def act(self, observation: Observation) -> TextAction:
        """Return the action of the model.

        Raises:
            PolicyError: No reply has arrived.
        """
        messages = self.request(observation)
        return self.read(observation, messages, self._model.answer(messages))

    def read(self, observation: Observation, messages: list[Message], reply: Reply) -> TextAction:
        """Return the action of a reply to the messages of an observation."""
        action = self._prompter.parse(reply.text)
        paid = {name: value for name, value in reply.usage.items() if name not in REPLIES}
        usage = {**paid, **action.usage, "images": len(images_of(messages))}
        if reply.cut_off:
            usage["cut_off"] = 1.0
        if self.prices is not None:
            usage["cost"] = self.price(usage["prompt_tokens"], usage["completion_tokens"])
        action = replace(
            action,
            reply=reply.text,
            usage=usage,
            record={**self._recorder.record(messages), "finish_reason": reply.finish_reason},
        )
        if not action.action:
            wrong = _CUT_OFF if reply.cut_off else _UNREADABLE
            self._unreadable[observation["turn"]] = first_words(reply.text), wrong
        self.remember(observation, action)
        return action

    def request(self, observation: Observation) -> list[Message]:
        """Return the messages of an observation, within the image budget; past replies without a
        valid action appear as their first words and the reason.
        """
        turns = tuple(map(self._past_turn, observation["turns"]))
        messages = self._prompter.messages({**observation, "turns": turns}, self._history)

        def named(part: str | ImagePart) -> str | ImagePart:
            if isinstance(part, str):
                return part
            return replace(part, name=f"turn_{observation['turn']:03d}_{part.name}")

        messages = [replace(each, parts=tuple(map(named, each.parts))) for each in messages]
        return budgeted(messages, self._most, self._largest_px)

    def _past_turn(self, turn: Mapping[str, Any]) -> Mapping[str, Any]:
        if turn["index"] not in self._unreadable:
            return turn
        action, wrong = self._unreadable[turn["index"]]
        return {**turn, "action": action, "message": f"{turn['message']} {wrong}".strip()}

    def estimate(self, observation: Observation, turns: int) -> dict[str, float]:
        """Estimate requests, tokens, images and price of an episode.

        Args:
            observation: First observation of the episode.
            turns: Number of turns.
        """
        action = "x" * 5 * CHARACTERS_PER_TOKEN  # five tokens
        total = dict.fromkeys(("requests", "prompt_tokens", "completion_tokens", "images"), 0.0)
        request: list[Message] = []
        for turn in range(turns):
            if turn <= self._prompter.history or not request:
                earlier = tuple({"index": k, "action": action, "message": ""} for k in range(turn))
                past = {**observation, "turn": turn, "turns": earlier}
                request = self.request(past)
                self.remember(past, TextAction(action, action))
            total["requests"] += 1
            total["prompt_tokens"] += tokens_of(request)
            total["completion_tokens"] += self.reply_tokens
            total["images"] += len(images_of(request))
        if self.prices is not None:
            total["cost"] = self.price(total["prompt_tokens"], total["completion_tokens"])
        return total

    def price(self, sent: float, replied: float) -> float:
        """Return the price of prompt and completion tokens."""
        assert self.prices is not None
        return (sent * self.prices[0] + replied * self.prices[1]) / 1e6

    def remember(self, observation: Observation, action: TextAction) -> None:
        """Keep a turn for later requests."""
        self._history.append((observation, action))
        shown = self._prompter.history
        self._history = self._history[-shown:] if shown else []


def _prompter(suite: Suite, interface: TextInterface, options: Mapping[str, Any]) -> Prompter:
    """Return the suite's own prompter, or the default one."""
    own = suite.prompter(interface, options) if isinstance(suite, Prompting) else None
    if own is not None:
        return own
    check_arguments(options, ())
    words = [name for name, kind in all_views(suite).items() if kind == "text"]
    return PlainPrompter(interface, words)
