"""Observer: what a policy is shown of an environment, and its prompt in words alone."""

from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clevrskills.core.env import Env, Prompt
from clevrskills.core.policy import Observation, ObservationOptions, PromptInput
from clevrskills.errors import ClevrSkillsError

__all__ = ["Observer"]

LANGUAGE = "language"
Arrays = Mapping[str, NDArray[Any]]
_KEYSTEP = "{ks:"


class Observer:
    """Observer of an environment on behalf of a policy.

    Args:
        env: The environment; it has at least the cameras that are asked for.
        options: What to show.
        prompt: What the policy is told; ``None``: the environment's own prompt.
        capture: Takes the images, by camera; ``None``: the environment does.
    """

    def __init__(
        self,
        env: Env,
        options: ObservationOptions,
        prompt: Prompt | None = None,
        capture: Callable[[], Arrays] | None = None,
    ) -> None:
        self._env, self._options, self._prompt = env, options, prompt
        self._capture = capture or env.capture
        self._frames: deque[tuple[Arrays, Arrays]] = deque(maxlen=options.history)

    def begin(self, seed: int = 0) -> PromptInput:
        """Start a new episode, after the environment was reset.

        Args:
            seed: For what the policy draws at random.

        Raises:
            ClevrSkillsError: The prompt cannot be said in words, as asked.
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
        """Return the observation of the present state; to be called once after each control step,
        or at least after the last ``history`` ones before the policy acts.
        """
        env, options = self._env, self._options
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
    """Return the last entries, each value (T, ...), the first repeated where there are too few; as
    they are without a history.
    """
    if history == 1:
        return entries[-1]
    entries = [entries[0]] * (history - len(entries)) + entries
    return {name: np.stack([entry[name] for entry in entries]) for name in entries[-1]}


def in_words(prompt: Prompt) -> str | None:
    """Return the prompt in words; if its own text shows key-steps, another text that asks for the
    same; ``None`` if there is none.
    """
    for text in (prompt.text, *prompt.others):
        if _KEYSTEP not in text:
            return prompt.plain(text)
    return None


def text_of(prompt: Prompt) -> str:
    """Return the prompt in words.

    Raises:
        ClevrSkillsError: It can only be shown.
    """
    words = in_words(prompt)
    if words is None:
        raise ClevrSkillsError(f"{prompt.text!r} cannot be said in words alone")
    return words
