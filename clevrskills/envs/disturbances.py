"""Injection of disturbances into an episode."""

from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clevrskills.sim.conditions import Disturbance
from clevrskills.sim.simulation import Simulation

MOTION = slice(0, 6)
VACUUM = 6
OFF = -1.0


class DisturbanceInjector:
    """Injector that changes the actions and pushes the bodies of one episode."""

    def __init__(self, disturbances: Sequence[Disturbance], simulation: Simulation) -> None:
        self._simulation = simulation
        self._pushes = {d.step: d for d in disturbances if d.kind == "nudge"}
        self._losses = [d for d in disturbances if d.kind == "loss"]
        self._drops = {d.step for d in disturbances if d.kind == "drop"}
        self._scales = [d for d in disturbances if d.kind == "scale"]
        self._delays = [d for d in disturbances if d.kind == "delay"]
        self._given: deque[NDArray[Any]] = deque(
            maxlen=1 + int(max((delay.by for delay in self._delays), default=0))
        )
        self._failing_until = 0

    def __call__(self, action: NDArray[Any], step: int, holding: bool) -> NDArray[Any]:
        """Apply the push due at a control step and return the action (7,) to execute.

        Args:
            action: Action of the policy.
            step: Number of previous control steps.
            holding: Whether the gripper holds a body.
        """
        if push := self._pushes.get(step):
            self._push(push)
        self._given.append(action)
        late = next((d for d in self._delays if _is_on(d, step)), None)
        waiting = late is not None and step - late.step < late.by  # no earlier action
        if late is not None:
            action = self._given[max(0, len(self._given) - 1 - int(late.by))]
        action = action.copy()
        if step in self._drops or waiting:
            action[MOTION] = 0.0
        for scale in self._scales:
            if _is_on(scale, step):
                action[MOTION] = np.clip(action[MOTION] * scale.by, -1.0, 1.0)
        if holding and self._losses and step >= self._losses[0].step:
            self._failing_until = step + self._losses.pop(0).steps
        if step < self._failing_until:
            action[VACUUM] = OFF
        return action

    def _push(self, push: Disturbance) -> None:
        """Change the velocity of a body unless it is held or static."""
        component = self._simulation.components[push.body]
        if component is not None and self._simulation.vacuum.held != push.body:
            component.wake_up()
            component.linear_velocity = component.linear_velocity + (*push.push_ms, 0.0)


def _is_on(disturbance: Disturbance, step: int) -> bool:
    return disturbance.step <= step < disturbance.step + disturbance.steps
