"""Built-in policies: zero, random, oracle and replay."""

from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from clevrskills.core.episode import episode_id
from clevrskills.core.interface import Interface
from clevrskills.core.policy import Observation, ObservationOptions, PromptInput
from clevrskills.core.suite import Suite
from clevrskills.dataset_tools.dataset import Dataset, Episode
from clevrskills.dataset_tools.export.lerobot.features import task_sentences
from clevrskills.dataset_tools.layout import DatasetError, Header
from clevrskills.errors import ClevrSkillsError
from clevrskills.evaluation.results import NO_TRACK
from clevrskills.solvers.requirements import require_oracle

BLIND = ObservationOptions(cameras=(), proprioception=False)


class Zero:
    """Policy that does nothing; a numeric action is all zeros.

    Args:
        suite: Suite of the episodes.
        interface: Action interface.
    """

    observation = BLIND
    track = NO_TRACK

    def __init__(self, suite: Suite, interface: Interface) -> None:
        self._interface = interface

    def reset(self, prompt: PromptInput) -> None:
        """Begin an episode."""

    def act(self, observation: Observation) -> Any:
        """Return the null action."""
        return self._interface.none()


class Random(Zero):
    """Policy with random actions; numeric ones are uniform in [-1, 1]."""

    def reset(self, prompt: PromptInput) -> None:
        """Begin an episode."""
        self._generator = np.random.default_rng(prompt.seed)

    def act(self, observation: Observation) -> Any:
        """Return a random action."""
        return self._interface.random(self._generator)


class Privileged(Zero):
    """Base class of policies that access the environment.

    Attributes:
        env: Environment of the episode.
        generator: Random generator, seeded by the prompt.
    """

    privileged = True
    env: Any
    generator: np.random.Generator

    def reset(self, prompt: PromptInput, *, env: Any, episode: Any) -> None:  # type: ignore[override]
        """Begin an episode."""
        self.env, self.generator = env, np.random.default_rng(prompt.seed)


class OraclePolicy(Zero):
    """Policy that solves episodes with the oracle.

    Args:
        suite: Suite of the episodes.
        interface: Action interface.

    Raises:
        ClevrSkillsError: The oracle cannot run on this machine.
    """

    privileged = True

    def __init__(self, suite: Suite, interface: Interface) -> None:
        require_oracle(suite)
        super().__init__(suite, interface)
        self._suite = suite

    def reset(self, prompt: PromptInput, *, env: Any, episode: Any) -> None:  # type: ignore[override]
        """Begin an episode."""
        self._oracle = self._suite.oracle(env, self._interface)

    def act(self, observation: Observation) -> Any:
        """Return the next action of the oracle.

        Raises:
            GaveUp: A skill failed too often.
        """
        return self._oracle.act()


class Replay:
    """Policy that replays the recorded actions of the same episode, then stands still.

    Behind a server, clients of the package send the name of the episode; for other clients the
    prompt must identify it.

    Args:
        dataset: Folder of the dataset.
        suite: Suite of the episodes.
        interface: Action interface.
        chunk: Maximum number of actions per answer; ``None``: all remaining actions.

    Raises:
        ClevrSkillsError: The folder is not a dataset, or the chunk is below 1.
    """

    observation = BLIND
    track = NO_TRACK
    privileged = True
    env_optional = True

    def __init__(
        self, dataset: str, suite: Suite, interface: Interface, chunk: int | None = None
    ) -> None:
        if chunk is not None and chunk < 1:
            raise ClevrSkillsError(f"chunk must be at least 1, not {chunk}")
        self._root, self._interface, self._chunk = Path(dataset).absolute(), interface, chunk
        Header.read(self._root)

    def reset(self, prompt: PromptInput, *, env: Any = None, episode: Any = None) -> None:
        """Begin an episode.

        Raises:
            DatasetError: The episode was not recorded, or its file is damaged.
        """
        if episode is None:
            self._actions = self._recognize(prompt).actions
        else:
            name = episode_id(episode.task, episode.split, episode.seed)
            self._actions = Episode(self._root / name).actions

    def act(self, observation: Observation) -> np.ndarray:
        """Return the remaining recorded actions, (H, n)."""
        left: np.ndarray = self._actions[observation["step"] :][: self._chunk]
        return left if len(left) else self._interface.none(self._actions[-1])

    def _recognize(self, prompt: PromptInput) -> Episode:
        found = [e for e in self._episodes if prompt.text in _texts(e)]
        if len(found) != 1:
            raise DatasetError(
                f"{self._root} has {len(found)} episodes with this prompt, and the client does not "
                f"name the episode: {prompt.text}"
            )
        return found[0]

    @cached_property
    def _episodes(self) -> list[Episode]:
        return [*Dataset(self._root)]


def _texts(episode: Episode) -> set[str]:
    """Return all texts of a recorded prompt, with placeholders and in plain language."""
    data = episode.prompt["data"]
    return {data["text"], *data.get("others", ()), *task_sentences(episode)}
