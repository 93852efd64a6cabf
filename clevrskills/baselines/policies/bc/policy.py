"""Behavior cloning: a small policy that sees the present and answers with the next actions.

It has no memory: the same image and prompt always give the same actions. It learns the next H
actions though it does only the first few of them before it looks again: the first action after a
start from rest is next to nothing, whichever way it goes, so nobody has to look to imitate it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import pad_sequence

from clevrskills.baselines.batch import Batch, Observations, Prompts
from clevrskills.baselines.policies.bc.slots import SlotEncoder, SlotEncoderConfig, VisualOutput
from clevrskills.baselines.policies.layers import mlp
from clevrskills.baselines.policies.losses import (
    PLACE_SCALE_M,
    PLACES,
    TOLD_PER_M,
    action_losses,
    decide_vacuum,
    missed,
    place_loss,
    scheduled_sample,
)
from clevrskills.baselines.policy import LearnedPolicy
from clevrskills.baselines.prompts import WordTokenizer
from clevrskills.baselines.spec import PolicySpec
from clevrskills.core.geometry import rotation_matrix
from clevrskills.errors import ClevrSkillsError

_WAYPOINT = 9
_WAYPOINT_SCALES = [PLACE_SCALE_M] * 3 + [0.1] * 6  # position, entries of a rotation matrix


@dataclass(frozen=True, kw_only=True)
class BehaviorCloningConfig(SlotEncoderConfig):
    """Configuration of :class:`BehaviorCloning`."""

    learning_rate: float = 1e-3
    hidden: int = 512  # units of each of the two hidden layers
    execution_horizon: int = 4  # how many of the next H actions are done before it looks again
    vacuum_weight: float = 0.1  # share of the loss of the vacuum, cross-entropy
    place_weight: float = 0.1  # share of the loss of the places of what the sub-task names
    look_weight: float = 0.05  # share of the loss of looking at them in each image, cross-entropy
    waypoint_weight: float = 0.1  # share of the loss of the end effector's next waypoint
    # share of control steps in training at which the actions follow from where these things are,
    # and not from where the policy believes them to be, and of those at which they follow from the
    # true waypoint: so it learns what to do before it has learned to see
    told: float = 0.5
    told_noise_m: float = 0.005  # standard deviation of what is added to these places

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 1 <= self.execution_horizon <= self.horizon:
            raise ClevrSkillsError(
                f"execution_horizon must be 1 to horizon, {self.horizon}, "
                f"not {self.execution_horizon}"
            )


class BehaviorCloning(LearnedPolicy[BehaviorCloningConfig]):
    """Slots that look for what the prompt names, and two hidden layers; mean squared error of the
    motion, cross-entropy of the vacuum, and, in training alone, the errors of telling where the
    things are that the sub-task names, and at which pose the end effector will be after what the
    arm does now.
    """

    config_type = BehaviorCloningConfig
    configurations: ClassVar = {
        "default": BehaviorCloningConfig(
            image_size=128, width=256, channels=64, layers=4, slots=8, rounds=3
        ),
        "compact": BehaviorCloningConfig(),
        "tiny": BehaviorCloningConfig(
            image_size=32,
            width=64,
            channels=16,
            layers=1,
            slots=3,
            rounds=1,
            hidden=128,
            learning_rate=2e-3,
            warm_up_steps=10,
        ),
    }
    tokenizer = WordTokenizer()

    def __init__(self, config: BehaviorCloningConfig, spec: PolicySpec) -> None:
        super().__init__(config, spec)
        self.scene = SlotEncoder(config, self.tokenizer.size, self.state_size)
        size = self.scene.size + 3 * PLACES
        self.waypoint = mlp(size, config.hidden, _WAYPOINT)
        self.head = nn.Sequential(
            nn.Linear(size + _WAYPOINT, config.hidden),
            nn.GELU(),
            nn.LayerNorm(config.hidden),
            nn.Linear(config.hidden, config.hidden),
            nn.GELU(),
            nn.Linear(config.hidden, config.horizon * 7),
        )

    def loss(self, batch: Batch) -> dict[str, Tensor]:
        prompt, mask = self.scene.prompt(batch.prompts)
        waypoints = _waypoints(batch.waypoints.flatten(0, 1))
        places = batch.places.flatten(0, 1)
        labels = (places, waypoints) if self.training else (None, None)
        predicted, sight, way = self._predict(batch.observations, prompt, mask, *labels)
        motion, vacuum = action_losses(predicted, batch, self.normalize_action)
        steps = batch.observations.mask.flatten()[:, None]  # (N, 1)
        place = place_loss(sight.places, places, steps)
        scale = way.new_tensor(_WAYPOINT_SCALES)
        reached = missed(way - waypoints.nan_to_num(), waypoints, steps[:, 0], scale)
        look = _looking_loss(sight.looks, batch.sights.flatten(0, 1), steps)
        parts = {"vacuum": vacuum, "place": place, "look": look, "waypoint": reached}
        total = motion
        for name, value in parts.items():
            total = total + getattr(self.config, f"{name}_weight") * value
        return {"loss": total, "motion": motion, **parts}

    def begin(self, prompts: Prompts, seeds: Sequence[int]) -> list[Any]:
        tokens, mask = self.scene.prompt(prompts)
        return [each[exist] for each, exist in zip(tokens, mask, strict=True)]

    def step(self, observations: Observations, memories: list[Any]) -> tuple[Tensor, list[Any]]:
        predicted, *_ = self._predict(observations, *_padded(memories))
        actions = predicted[:, -1, : self.config.execution_horizon].float()
        return decide_vacuum(actions, self.normalize_action), memories

    def positions(self, observations: Observations, memories: list[Any]) -> Tensor:
        count = observations.mask.shape[1]
        return self.scene(observations, *_padded(memories)).places[count - 1 :: count]

    def _predict(
        self,
        observations: Observations,
        prompt: Tensor,
        mask: Tensor,
        told_places: Tensor | None = None,
        told_waypoint: Tensor | None = None,
    ) -> tuple[Tensor, VisualOutput, Tensor]:
        """Return at each step the next actions, (B, T, H, 7), the last entry as the logit of vacuum
        on, what is seen, and the next waypoint (N, 9), as :func:`_waypoints` gives it; in training,
        where the objects are that the sub-task names, (N, 2, 3), and that waypoint are told.
        """
        noise = self.config.told, self.config.told_noise_m
        sight = self.scene(observations, prompt, mask)
        places = scheduled_sample(sight.places, told_places, *noise)
        seen = torch.cat([sight.numbers, TOLD_PER_M * places.flatten(1)], -1)
        waypoint = self.waypoint(seen)
        known = scheduled_sample(waypoint, told_waypoint, *noise)
        far = torch.cat([TOLD_PER_M * known[:, :3], known[:, 3:]], -1)
        predicted = self.head(torch.cat([seen, far], -1))
        return predicted.reshape(*observations.mask.shape, -1, 7), sight, waypoint


def _padded(prompts: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
    """Return tokens of prompts, each (L, width), as one tensor (n, L, width), and which of them
    exist, (n, L).
    """
    tokens = pad_sequence([*prompts], batch_first=True)
    lengths = torch.tensor([len(prompt) for prompt in prompts], device=tokens.device)
    return tokens, torch.arange(tokens.shape[1], device=tokens.device) < lengths[:, None]


def _waypoints(poses: Tensor) -> Tensor:
    """Return positions and the first two rows of rotation matrices, (N, 9), of poses (N, 7)."""
    return torch.cat([poses[:, :3], rotation_matrix(poses[:, 3:])[:, :2].flatten(1)], -1)


def _looking_loss(looks: Sequence[Tensor], pixels: Tensor, steps: Tensor) -> Tensor:
    """Return the cross-entropy of looking where something is: of logits (N, 2, h w) for each of C
    cameras, places in their images (N, 2, C, 2) and which of the steps exist (N, 1).
    """
    total = steps.new_zeros((), dtype=torch.float32)
    for k, logits in enumerate(looks):
        place = pixels[:, :, k]
        wanted = place.isfinite().all(-1) & steps
        side = math.isqrt(logits.shape[-1])
        column, row = ((place.nan_to_num() + 1) / 2 * side).long().clamp(0, side - 1).unbind(-1)
        missed = functional.cross_entropy(
            logits.flatten(0, 1).float(), (row * side + column).flatten(), reduction="none"
        )
        total = total + (missed * wanted.flatten()).sum() / wanted.sum().clamp(min=1)
    return total / max(len(looks), 1)
