"""Policies that come with the package: two without skill, the oracle, and recorded actions."""

from pathlib import Path
from typing import Any

import numpy as np

from clevrskills.core.episode import episode_id
from clevrskills.core.interface import Interface
from clevrskills.core.policy import Observation, ObservationOptions, PromptInput
from clevrskills.core.suite import Suite
from clevrskills.dataset_tools.dataset import Episode

BLIND = ObservationOptions(cameras=(), proprioception=False)


class Zero:
    """Does nothing; of actions of numbers, all zeros.

    Args:
        suite: What it acts in.
        interface: What it acts by.
    """

    observation = BLIND
    needs_suite = True

    def __init__(self, suite: Suite, interface: Interface) -> None:
        self._interface = interface

    def reset(self, prompt: PromptInput) -> None:
        """An episode begins."""

    def act(self, observation: Observation) -> Any:
        """The action that does nothing."""
        return self._interface.none()


class Random(Zero):
    """Acts without skill; of actions of numbers, each is drawn evenly from -1 to 1."""

    def reset(self, prompt: PromptInput) -> None:
        """An episode begins."""
        self._generator = np.random.default_rng(prompt.seed)

    def act(self, observation: Observation) -> Any:
        """A random action."""
        return self._interface.random(self._generator)


class OraclePolicy:
    """Solves episodes with the oracle.

    Args:
        suite: What it acts in.
        interface: What it acts by.

    Raises:
        ClevrSkillsError: The oracle of the suite cannot run here.
    """

    observation = BLIND
    privileged = True
    needs_suite = True

    def __init__(self, suite: Suite, interface: Interface) -> None:
        suite.require_oracle()
        self._suite = suite

    def reset(self, prompt: PromptInput, *, env: Any, episode: Any) -> None:
        """An episode begins."""
        self._oracle = self._suite.oracle(env)

    def act(self, observation: Observation) -> Any:
        """What the oracle does next.

        Raises:
            GaveUp: A skill failed too often.
        """
        return self._oracle.act()


class Replay:
    """Makes the actions that were recorded in the same episode; then stands still.

    Args:
        dataset: Folder of the dataset.
        suite: What it acts in.
        interface: What it acts by.
    """

    observation = BLIND
    privileged = True
    needs_suite = True

    def __init__(self, dataset: str, suite: Suite, interface: Interface) -> None:
        self._root, self._interface = Path(dataset), interface

    def reset(self, prompt: PromptInput, *, env: Any, episode: Any) -> None:
        """An episode begins.

        Raises:
            DatasetError: It was not recorded, or its file is damaged.
        """
        name = episode_id(episode.task, episode.split, episode.seed)
        self._actions = Episode(self._root / name).actions

    def act(self, observation: Observation) -> np.ndarray:
        """The recorded actions from here on."""
        left: np.ndarray = self._actions[observation["step"] :]
        return left if len(left) else self._interface.none(self._actions[-1])
