"""Oracle of the household, with optional mistakes that demonstrate repairs."""

from __future__ import annotations

from zlib import crc32

import numpy as np

from clevrskills.suites.asgardbench.env import HouseEnv
from clevrskills.suites.asgardbench.rules.verbs import VERBS, apply
from clevrskills.suites.asgardbench.tasks.solver import StuckError, solve
from clevrskills.suites.symbolic import SymbolicOracle

MISTAKES = "mistakes"
"""Task argument: probability of a wrong command of the oracle."""
_TRIES = 20


class HouseOracle(SymbolicOracle):
    """Oracle that solves instances from any state.

    Args:
        env: The environment.

    Attributes:
        plan: Plan that begins with the last command.
        step: The plan in one line.
        mistaken: Whether the last command was a deliberate mistake.
    """

    plan: tuple[str, ...] = ()
    step = ""
    mistaken = False

    _env: HouseEnv

    def reset(self) -> None:
        entropy = (self._env.episode.seed, crc32(MISTAKES.encode()))
        self._generator = np.random.default_rng(entropy)
        self.mistaken = False

    def act(self) -> str:
        env = self._env
        self.plan = tuple(env.plan())
        rate = float(env.config.task_args.get(MISTAKES, 0.0))
        self.mistaken = bool(
            rate
            and not self.mistaken
            and env.elapsed_steps + len(self.plan) < env.limit - 10
            and self._generator.random() < rate
        )
        command = self._mistake() if self.mistaken else ""
        self.mistaken = bool(command)
        self.step = "" if self.mistaken else "; ".join(self.plan)
        return command or self.plan[0]

    def _mistake(self) -> str:
        """Return a wrong command that the solver can recover from; empty: none was found."""
        env, generator = self._env, self._generator
        for _ in range(_TRIES):
            seen = [e.type for e in env.house.entities.values() if env.house.visible(e)]
            some = str(generator.choice(seen or list(env.house.types)))
            other = f"{generator.choice(VERBS)} {some}"
            hasty = self.plan[1] if len(self.plan) > 1 else other
            command = hasty if generator.random() < 0.5 else other
            if command == self.plan[0]:
                continue
            after = env.house.copy()
            apply(after, *command.split())
            try:
                rest = solve(env.episode.task, env.variant, after)
            except StuckError:
                continue
            if rest:
                return command
        return ""
