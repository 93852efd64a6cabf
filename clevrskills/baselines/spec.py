"""Policy spec: configuration, observations and actions of a policy."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from types import NoneType, UnionType
from typing import Any, ClassVar, Self, get_args, get_origin, get_type_hints

from clevrskills.core.policy import ObservationOptions
from clevrskills.errors import ClevrSkillsError, UnknownNameError
from clevrskills.sim.robots.delta_action import ACTION_SPEC

__all__ = ["PolicyConfig"]

Statistics = Mapping[str, Mapping[str, list[float]]]
"""Statistics (``mean std min max q01 q99`` and others) of each entry of ``state`` and
``action``."""


@dataclass(frozen=True, kw_only=True)
class PolicyConfig:
    """Configuration of a policy: numbers, strings and tuples of them, stored as JSON.

    Each policy has a subclass with more entries and other defaults.

    Attributes:
        cameras: Cameras of the policy.
        image_size: Width and height of camera and prompt images, in pixels.
        proprioception: Whether the policy gets proprioception; else ``state`` is (B, T, 0).
        steps: Observations in a training window, T.
        starts_every: ``None``: a window ends at every control step, and the policy acts on the last
            T observations; before the start of an episode the first observation is repeated. A
            number n: a window starts every n control steps, and the policy acts on one observation
            at a time (T = 1) with its own state; after the end the last observation is repeated.
        horizon: Actions predicted at each step, H.
        learning_rate: Peak learning rate.
        batch_size: Batch size per process, in windows.
        weight_decay: Weight decay.
        warm_up_steps: Optimizer steps of linear learning rate warm-up.
        max_gradient_norm: Norm to which gradients are clipped.
        final_rate: Final learning rate, as a fraction of the peak.
        part_rates: Factors of the learning rate by prefix of parameter names; the longest matching
            prefix counts.
    """

    cameras: tuple[str, ...] = ("base_camera", "hand_camera")
    image_size: int = 256
    proprioception: bool = False
    steps: int = 1
    starts_every: int | None = None
    horizon: int = 1
    learning_rate: float = 1e-4
    batch_size: int = 64
    weight_decay: float = 1e-2
    warm_up_steps: int = 500
    max_gradient_norm: float = 1.0
    final_rate: float = 0.1
    part_rates: tuple[tuple[str, float], ...] = ()
    remembers: ClassVar[bool] = False
    """True if the policy acts on one observation at a time with its own state."""

    def __post_init__(self) -> None:
        for name in ("image_size", "steps", "starts_every", "horizon", "batch_size"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ClevrSkillsError(f"{name} must be at least 1, not {value}")
        for name in ("learning_rate", "weight_decay", "warm_up_steps", "final_rate"):
            if not 0 <= (value := getattr(self, name)) < math.inf:
                raise ClevrSkillsError(f"{name} must be 0 or more, not {value}")
        if not self.max_gradient_norm > 0:
            norm = self.max_gradient_norm
            raise ClevrSkillsError(f"max_gradient_norm must be over 0, not {norm}")
        if self.remembers and self.starts_every is None:
            raise ClevrSkillsError(
                "the policy acts on one step at a time: starts_every must be a number"
            )
        if self.starts_every is not None and self.starts_every > self.steps:
            raise ClevrSkillsError(
                f"starts_every must be at most steps, {self.steps}, not {self.starts_every}"
            )
        for part in self.part_rates:
            if len(part) != 2 or not isinstance(part[0], str) or not _is_rate(part[1]):
                raise ClevrSkillsError(f"part_rates must be pairs [PART, FACTOR], not {part!r}")

    def changed(self, changes: Mapping[str, Any]) -> Self:
        """Return a copy with some values replaced, given as JSON data.

        Raises:
            ClevrSkillsError: An entry does not exist, or its value has the wrong type.
        """
        return self.from_json({f.name: getattr(self, f.name) for f in fields(self)} | dict(changes))

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Return a configuration from the JSON data of ``dataclasses.asdict``.

        Raises:
            ClevrSkillsError: An entry does not exist, or its value has the wrong type.
        """
        kinds = get_type_hints(cls)
        known = [f.name for f in fields(cls)]
        for name in data:
            if name not in known:
                raise UnknownNameError(f"entry of {cls.__name__}", name, known)
        return cls(**{name: _of_kind(name, value, kinds[name]) for name, value in data.items()})


@dataclass(frozen=True)
class PolicySpec:
    """Observations and actions of a policy, from its training data; part of its checkpoint."""

    observation: ObservationOptions
    # sizes of the measurements concatenated in ``state``, in order
    state_parts: Mapping[str, int]
    statistics: Statistics  # for the normalization of states and actions
    # specification of actions
    action: Mapping[str, Any] = field(default_factory=lambda: dict(ACTION_SPEC))

    @property
    def state_size(self) -> int:
        """Length of ``state``."""
        return sum(self.state_parts.values())

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Return a spec from the JSON data of ``dataclasses.asdict``."""
        options = {name: _tuples(value) for name, value in data["observation"].items()}
        return cls(
            ObservationOptions(**options), data["state_parts"], data["statistics"], data["action"]
        )


def _is_rate(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value >= 0


def _of_kind(name: str, value: Any, kind: Any) -> Any:
    """Return a JSON value converted to a type, e.g. ``int | None`` or ``tuple[str, ...]``."""
    value = _tuples(value)
    union = isinstance(kind, UnionType)
    kinds = [get_origin(k) or k for k in (get_args(kind) if union else (kind,))]
    if float in kinds and type(value) is int:
        return float(value)
    if type(value) not in kinds:
        names = " or ".join("null" if k is NoneType else k.__name__ for k in kinds)
        raise ClevrSkillsError(f"{name} must be a {names}, not {value!r}")
    return value


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value
