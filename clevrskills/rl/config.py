"""Numbers that PPO is tuned by."""

from __future__ import annotations

from dataclasses import dataclass, fields

from clevrskills.errors import ClevrSkillsError


@dataclass(frozen=True, kw_only=True)
class PPOConfig:
    """Numbers that PPO is tuned by; the defaults are for states on a CPU.

    Raises:
        ClevrSkillsError: A number is not allowed.
    """

    rollout_steps: int = 64
    """Control steps of each environment between two updates."""
    epochs: int = 8
    """How often an update goes through these steps."""
    minibatch: int = 1024
    """Samples of a gradient step, about."""
    learning_rate: float = 5e-4
    """Step size of Adam, at first."""
    anneal: bool = True
    """Let the step size fall to zero, linearly."""
    gamma: float = 0.95
    """Discount of a control step."""
    gae_lambda: float = 0.95
    """How far advantages look ahead beyond the value function: 0 not at all, 1 to the end."""
    clip: float = 0.2
    """How far the ratio of new to old probability may count beyond 1."""
    value_clip: float | None = None
    """How far a value may move in an update, in standard deviations of returns; unset: any."""
    value_weight: float = 0.5
    """Weight of the value function's loss."""
    entropy_weight: float = 0.0
    """Weight of the policy's entropy."""
    max_gradient: float = 0.5
    """Norm to which gradients are cut."""
    target_kl: float | None = 0.03
    """Divergence from the old policy at which an update ends early; unset: never."""
    initial_std: float = 0.12
    """Standard deviation of movements at first."""
    vacuum_std: float = 0.5
    """The same of the vacuum, which is on above 0."""
    vacuum_mean: float = 0.0
    """Mean of the vacuum at first; below 0 it is off most of the time."""
    hidden: tuple[int, ...] = (256, 256)
    """Units of each hidden layer, of the policy and of the value function."""

    def __post_init__(self) -> None:
        for field in fields(self):
            least, most = _LIMITS.get(field.name, (None, None))
            value = getattr(self, field.name)
            if value is None or least is None:
                continue
            if value < least or (most is not None and value > most):
                upper = "" if most is None else f", at most {most}"
                raise ClevrSkillsError(f"{field.name} must be at least {least}{upper}, not {value}")


_LIMITS: dict[str, tuple[float, float | None]] = {
    "rollout_steps": (1, None),
    "epochs": (1, None),
    "minibatch": (2, None),
    "learning_rate": (0.0, None),
    "gamma": (0.0, 1.0),
    "gae_lambda": (0.0, 1.0),
    "clip": (0.0, None),
    "initial_std": (0.001, None),
    "vacuum_std": (0.001, None),
}
"""Least and greatest value, where there is one."""
