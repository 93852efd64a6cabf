"""The scripted oracle as a policy: it knows the state, so it says what can be reached."""

from __future__ import annotations

from typing import Any

import numpy as np

from clevrskills.core.policy import Observation, PromptInput
from clevrskills.evaluation.policies.simple import BLIND
from clevrskills.solvers.oracle import Oracle
from clevrskills.solvers.requirements import require_planner


class OraclePolicy:
    """Solves episodes with the oracle.

    Raises:
        ClevrSkillsError: The planner is not installed or cannot run.
    """

    observation = BLIND
    privileged = True

    def __init__(self) -> None:
        require_planner()

    def reset(self, prompt: PromptInput, *, env: Any, episode: Any) -> None:
        """An episode begins."""
        self._oracle = Oracle(env)

    def act(self, observation: Observation) -> np.ndarray:
        """What the oracle does next.

        Raises:
            GaveUp: A skill failed too often.
        """
        return self._oracle.act()
