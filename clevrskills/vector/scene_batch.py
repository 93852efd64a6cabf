"""Batch of scenes: the environments of one process."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from gymnasium.vector import AutoresetMode

from clevrskills.core.episode import TRAINING
from clevrskills.core.goal.tree import nodes, outcomes, reasons, used
from clevrskills.core.threads import single_threaded
from clevrskills.envs.state_observation import ROBOT, StateObserver, flat, layout
from clevrskills.predicates import GoalState
from clevrskills.sim.body_geometry import Solids
from clevrskills.sim.simulation import SimWorld
from clevrskills.tasks import stack_roles
from clevrskills.vector.spec import VectorSpec

Arrays = Mapping[str, np.ndarray]
"""Outputs of the environments, by name; each (B, ...)."""


class SceneBatch:
    """Batch of ``count`` environments, simulated sequentially and evaluated together."""

    def __init__(self, spec: VectorSpec, count: int) -> None:
        self._spec = spec
        self._envs = [spec.make() for _ in range(count)]
        self._task, self._limit = self._envs[0].task, spec.step_limit
        self._seeders = [np.random.default_rng(k) for k in range(count)]
        self._steps = np.zeros(count, np.int64)
        self._returns = np.zeros(count)
        self._once = np.zeros(count, bool)
        self._over = np.zeros(count, bool)  # where the next step starts an episode
        self._progress = torch.zeros(count)
        self._state: GoalState = {}
        with torch.inference_mode():
            self._begin(range(count))

    @torch.inference_mode()
    def arrays(self) -> dict[str, np.ndarray]:
        """Return output arrays filled with zeros."""
        count = len(self._envs)
        observations = self._look().items()
        arrays = {
            **{f"obs/{name}": values for name, values in observations},
            **{f"final_obs/{name}": values for name, values in observations},
            "reward": np.zeros(count),
            "terminated": np.zeros(count, bool),
            "truncated": np.zeros(count, bool),
            "success": np.zeros(count, bool),
            "progress": np.zeros(count, np.float32),
            "reward_terms": np.zeros((count, len(self.terms)), np.float32),
            "unsolvable": np.zeros(count, np.int8),
            "episode/return": np.zeros(count),
            "episode/length": np.zeros(count, np.int64),
            "episode/success_once": np.zeros(count, bool),
            "episode/success_at_end": np.zeros(count, bool),
        }
        if self._spec.render_mode:
            arrays["frames"] = self._frames()
        return {name: np.zeros_like(values) for name, values in arrays.items()}

    @property
    def terms(self) -> list[str]:
        """Names of the reward terms."""
        return [node.path for node in nodes(self._goal)]

    @property
    @torch.inference_mode()
    def layout(self) -> list[dict[str, Any]]:
        """Name, start and stop of the entries of the state."""
        return layout(self._entries(self._observer(self._outcome)))

    @property
    def reasons(self) -> list[str]:
        """Reasons why goals can become unsolvable; the first is empty."""
        return ["", *self._goal.unsolvable(self._state)]

    @single_threaded
    @torch.inference_mode()
    def reset(self, out: Arrays, seeds: Sequence[int | None]) -> None:
        """Start episodes with some seeds; ``None``: the next episode of the previous seed."""
        for row, seed in enumerate(seeds):
            if seed is not None:
                self._seeders[row] = np.random.default_rng(seed)
        self._over[:] = False
        self._begin(range(len(seeds)), seeds)
        self._report(out)
        _write(out, "obs", self._look())

    @single_threaded
    @torch.inference_mode()
    def step(self, out: Arrays) -> None:
        """Run one control step with ``out["actions"]`` (B, 7). Start the next episode where this
        step or, with ``NEXT_STEP``, the previous step ended one.
        """
        self._world.step(out["actions"])
        before, over = self._progress, self._over
        self._evaluate()
        reward = np.where(over, 0.0, self._spec.reward(self._outcome, before).numpy())
        success = self._outcome.holds.numpy() & ~over
        self._steps += 1
        self._returns += reward
        self._once |= success
        out["reward"][:] = reward
        out["terminated"][:] = success & self._spec.terminate_on_success
        out["truncated"][:] = (self._steps >= self._limit) & ~over
        if over.any():
            self._begin(over.nonzero()[0].tolist())
        self._report(out)
        ended = out["terminated"] | out["truncated"]
        rows = ended.nonzero()[0]
        observations = self._look()
        if len(rows):
            _write(out, "final_obs", observations, rows)
            for name, values in (
                ("return", self._returns),
                ("length", self._steps),
                ("success_once", self._once),
                ("success_at_end", success),
            ):
                out[f"episode/{name}"][rows] = values[rows]
        if self._spec.autoreset_mode is AutoresetMode.NEXT_STEP:
            self._over = ended
        elif len(rows):
            self._begin(rows.tolist())
            observations = self._look()
        _write(out, "obs", observations)

    @single_threaded
    @torch.inference_mode()
    def render(self, out: Arrays) -> None:
        """Render all environments."""
        out["frames"][:] = self._frames()

    def close(self) -> None:
        """Release the scenes."""
        for env in self._envs:
            env.close()

    def _begin(self, rows: Sequence[int], seeds: Sequence[int | None] = ()) -> None:
        """Start episodes in some environments."""
        for row in rows:
            seeder = self._seeders[row]
            drawn = int(seeder.integers(TRAINING.stop))
            share = float(seeder.random()) if seeder.random() < self._spec.head_starts else 0.0
            seed = seeds[row] if seeds else None
            self._envs[row].begin(drawn if seed is None else seed, {"head_start": share})
        index = torch.as_tensor(list(rows))
        self._steps[index], self._returns[index], self._once[index] = 0, 0.0, False
        layouts = [env.layouts[0] for env in self._envs]
        self._goal = self._task.goal(stack_roles(layouts)).with_criteria(self._envs[0].criteria)
        self._world = SimWorld(
            self._task.slots,
            Solids.stack([env.world.solids for env in self._envs]),
            [env.simulation for env in self._envs],
        )
        self._observer = StateObserver(self._goal, self._world)
        self._used = used(self._goal, len(layouts))
        self._state = self._begun(index)
        self._outcome = self._goal.evaluate(self._world, self._state)
        self._progress = self._outcome.progress

    def _begun(self, rows: torch.Tensor) -> GoalState:
        """Return the goal states after a first evaluation in some environments (n,), and the
        previous states of the others.
        """
        first: GoalState = {}
        for key in self._envs[0].goal_state:
            first[key] = torch.cat([env.goal_state[key] for env in self._envs])
        with self._world.without_rewards():
            fresh = self._goal.evaluate(self._world, first).state
        return {
            key: self._state.get(key, values).index_copy(0, rows, values[rows])
            for key, values in fresh.items()
        }

    def _evaluate(self) -> None:
        """Evaluate the goals."""
        self._outcome = self._goal.evaluate(self._world, self._state)
        self._state = self._outcome.state
        self._progress = self._outcome.progress

    def _report(self, out: Arrays) -> None:
        """Write the outcomes of the goals."""
        found = outcomes(self._goal, self._outcome)
        out["success"][:] = self._outcome.holds.numpy()
        out["progress"][:] = self._outcome.progress.numpy()
        rewards = torch.stack([one.reward for one in found], dim=-1)
        out["reward_terms"][:] = (rewards * self._used).numpy()
        causes = reasons(self._goal, self._goal.failure_flags, self._outcome.state)
        out["unsolvable"][:] = [self.reasons.index(reason) for reason in causes] if causes else 0

    def _look(self) -> dict[str, np.ndarray]:
        """Return the observations of all environments, (B, ...)."""
        state = flat(self._entries(self._observer(self._outcome))).numpy()
        if not self._spec.images:
            return {"state": state}
        for row, env in enumerate(self._envs):
            env.repaint(self._outcome, row)
        images = [env.capture() for env in self._envs]
        return {
            **{name: np.stack([taken[name] for taken in images]) for name in self._spec.images},
            "state": state,
        }

    def _frames(self) -> np.ndarray:
        """Return images of the render camera, (B, H, W, 3) uint8."""
        return np.concatenate([np.asarray(env.render()) for env in self._envs])

    def _entries(self, entries: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        """Return the observed entries of a state: with images, only those of the robot."""
        if not self._spec.images:
            return entries
        return {name: values for name, values in entries.items() if name.startswith(ROBOT)}


def _write(
    out: Arrays, group: str, values: Mapping[str, np.ndarray], rows: np.ndarray | None = None
) -> None:
    """Write values (B, ...) of a group, by default of all environments."""
    chosen = slice(None) if rows is None else rows
    for name, value in values.items():
        out[f"{group}/{name}"][chosen] = value[chosen]
