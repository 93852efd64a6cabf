"""Policy of a training run, for ``clevrskills evaluate --policy rl:DIR TASK``."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch

from clevrskills.core.checkpoint import latest, located
from clevrskills.core.policy import Observation, ObservationOptions, PolicyError, PromptInput
from clevrskills.envs.state_observation import ROBOT, flat
from clevrskills.rl.agent import STATE, MovesAgent, to_tensors
from clevrskills.rl.checkpoint import load_agent
from clevrskills.rl.run import read_run
from clevrskills.sim.robots.delta_action import ACTION_SPEC

__all__ = ["load_actor"]


def load_actor(folder: str | Path) -> Callable[[np.ndarray], np.ndarray]:
    """Return the policy of a training run on states: a function from observations (D,) of
    ``obs_mode="state"`` to mean actions (7,).

    Raises:
        ClevrSkillsError: There is no training run, or it has no checkpoint yet.
    """
    root = located(Path(folder))
    agent = load_agent(root, read_run(root))

    def act(observation: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            return agent.act(to_tensors({STATE: observation[None]}))[0].numpy()

    return act


class RLPolicy:
    """Policy of a training run, with mean actions.

    It observes the state of the simulation or the images and states of its training. Moves on
    boards are sampled with the seed of the episode.

    Args:
        folder: Folder of the training run.

    Attributes:
        only_task: Key of the task that it was trained on.

    Raises:
        ClevrSkillsError: There is no training run, or it has no checkpoint yet.
    """

    privileged = True
    action_spec: Mapping[str, Any] | None = ACTION_SPEC

    def __init__(self, folder: str) -> None:
        root = located(Path(folder))
        self._run = read_run(root)
        self._agent = load_agent(root, self._run)
        if isinstance(self._agent, MovesAgent):
            self.action_spec = None  # its actions are commands
        self.only_task = self._run.task
        before = Path(self._run.begin_with).name
        begun = f", begun with {before}" if before else ""
        self.track = f"open (reinforcement learning, {latest(root)[0]} steps{begun})"
        self.observation = ObservationOptions(
            self._run.cameras, self._run.size_px, proprioception=False, look=self._run.look
        )

    def reset(self, prompt: PromptInput, *, env: Any, episode: Any) -> None:
        """Start an episode.

        Raises:
            PolicyError: The policy was trained on another task or robot.
        """
        for kind, learned, now in (
            ("task", self._run.task, episode.task),
            ("robot", self._run.robot, episode.robot),
        ):
            if now != learned:
                raise PolicyError(f"the policy was trained on the {kind} {learned}, not {now}")
        self._env, self._generator = env, torch.Generator().manual_seed(prompt.seed)

    def act(self, observation: Observation) -> np.ndarray | str:
        """Return the mean action, (7,), or a command."""
        if isinstance(self._agent, MovesAgent):
            return self._move(self._agent)
        images = {name: image[None] for name, image in observation["images"].items()}
        entries = self._env.observer(self._env.outcome)
        if images:  # then the state has only entries of the robot
            entries = {k: values for k, values in entries.items() if k.startswith(ROBOT)}
        with torch.no_grad():
            action = self._agent.act(to_tensors({**images, STATE: flat(entries).numpy()}))
        return action[0].numpy()

    def _move(self, agent: MovesAgent) -> str:
        state = self._env.training_observation()
        if state.shape != (agent.spaces.state,):
            raise PolicyError("the policy was trained on boards of another size")
        with torch.no_grad():
            chosen, _ = agent(to_tensors(state[None]))
            move = agent.sample(chosen, self._generator)
        command: str = self._env.training_command(int(move))
        return command
