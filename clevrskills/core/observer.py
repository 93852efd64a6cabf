"""Observer: observations and prompts of a policy."""

from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clevrskills.core.env import Env, Prompt
from clevrskills.core.policy import ImagesOnDemand, Observation, ObservationOptions, PromptInput
from clevrskills.errors import ClevrSkillsError

__all__ = ["Observer"]

LANGUAGE = "language"
Arrays = Mapping[str, NDArray[Any]]
_KEYSTEP = "{ks:"


class Observer:
    """Observer that builds a policy's observations of an environment.

    Args:
        env: The environment, with at least the cameras of the options.
        options: Options of the observations.
        prompt: The prompt; ``None``: that of the environment.
        capture: Function that returns the images by camera; ``None``: that of the environment.
        on_demand: Whether images are rendered when they are read; not with a history or views.
    """

    def __init__(
        self,
        env: Env,
        options: ObservationOptions,
        prompt: Prompt | None = None,
        capture: Callable[[], Arrays] | None = None,
        on_demand: bool = False,
    ) -> None:
        self._env, self._options, self._prompt = env, options, prompt
        self._on_demand = on_demand and options.history == 1 and options.views is None
        self._capture = capture or env.capture
        self._frames: deque[tuple[Arrays, Arrays]] = deque(maxlen=options.history)

    def begin(self, seed: int = 0) -> PromptInput:
        """Start an episode after a reset and return the prompt.

        Args:
            seed: Seed of the policy's random choices.

        Raises:
            ClevrSkillsError: The prompt has no wording without images, as requested.
        """
        self._frames.clear()
        prompt = self._env.prompt if self._prompt is None else self._prompt
        if self._options.prompt == LANGUAGE:
            self._text = text_of(prompt)
            return PromptInput(self._text, {}, seed, prompt.about)
        self._text = prompt.text
        images = prompt.images() if self._options.shows_prompt_images else {}
        return PromptInput(self._text, images, seed, prompt.about)

    def look(self) -> Observation:
        """Return the observation of the current state.

        Call it after each control step, or at least after the last ``history`` ones before the
        policy acts.
        """
        env, options = self._env, self._options
        frame: Arrays = ImagesOnDemand(options.cameras, self._capture)
        if not self._on_demand:
            captured = self._capture() if options.cameras else {}
            frame = {name: captured[name] for name in options.cameras}
        self._frames.append((frame, env.proprioception() if options.proprioception else {}))
        images, proprioception = (
            _over_time([frame[k] for frame in self._frames], options.history) for k in range(2)
        )
        observation = {
            "images": images,
            "proprioception": proprioception,
            "prompt": self._text,
            "step": int(np.asarray(env.elapsed_steps).reshape(-1)[0]),
        }
        if options.views is not None:
            others = [name for name in options.views if name not in images]
            drawn = {**images, **(env.look(others) if others else {})}
            observation["views"] = {name: drawn[name] for name in options.views}
        return observation


def _over_time(entries: list[Arrays], history: int) -> Arrays:
    """Stack the last entries to values (T, ...), padded with the first one; no stack for T = 1."""
    if history == 1:
        return entries[-1]
    entries = [entries[0]] * (history - len(entries)) + entries
    return {name: np.stack([entry[name] for entry in entries]) for name in entries[-1]}


def in_words(prompt: Prompt) -> str | None:
    """Return a wording of the prompt without images; ``None`` if all show key-steps."""
    for text in (prompt.text, *prompt.others):
        if _KEYSTEP not in text:
            return prompt.plain(text)
    return None


def text_of(prompt: Prompt) -> str:
    """Return a wording of the prompt without images.

    Raises:
        ClevrSkillsError: All wordings show key-steps.
    """
    words = in_words(prompt)
    if words is None:
        raise ClevrSkillsError(f"{prompt.text!r} has no wording without images")
    return words
