"""Behavior cloning: a small policy that predicts the next actions from the current observation.

It has no memory: equal observations and prompts give equal actions. It predicts a chunk of H
actions and executes the first few before the next prediction, since the first action after a rest
hardly depends on the goal.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from clevrskills.baselines.batch import Batch, Observations, Prompts
from clevrskills.baselines.policies.losses import action_losses, decide_vacuum
from clevrskills.baselines.policies.small_encoders import TINY, SceneEncoder, SmallEncoderConfig
from clevrskills.baselines.policy import LearnedPolicy
from clevrskills.baselines.prompts import WordTokenizer
from clevrskills.baselines.spec import PolicySpec
from clevrskills.errors import ClevrSkillsError


@dataclass(frozen=True, kw_only=True)
class BehaviorCloningConfig(SmallEncoderConfig):
    """Configuration of :class:`BehaviorCloning`."""

    learning_rate: float = 1e-3
    hidden: int = 512  # units of each of the two hidden layers
    execution_horizon: int = 4  # actions of a chunk that are executed before the next prediction
    vacuum_weight: float = 0.1  # weight of the cross-entropy of the vacuum

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 1 <= self.execution_horizon <= self.horizon:
            raise ClevrSkillsError(
                f"execution_horizon must be 1 to horizon, {self.horizon}, "
                f"not {self.execution_horizon}"
            )


class BehaviorCloning(LearnedPolicy[BehaviorCloningConfig]):
    """Encoder of images, prompt and proprioception with two hidden layers; mean squared error of
    the motion and cross-entropy of the vacuum.
    """

    config_type = BehaviorCloningConfig
    configurations: ClassVar = {
        "default": BehaviorCloningConfig(),
        "compact": BehaviorCloningConfig(
            image_size=96, width=128, heads=4, channels=(16, 32, 32), places=32, prompt_layers=1
        ),
        "tiny": BehaviorCloningConfig(hidden=128, **TINY),
    }
    tokenizer = WordTokenizer()

    def __init__(self, config: BehaviorCloningConfig, spec: PolicySpec) -> None:
        super().__init__(config, spec)
        self.scene = SceneEncoder(config, self.tokenizer.size, self.state_size)
        self.head = nn.Sequential(
            nn.Linear(self.scene.tokens * config.width, config.hidden),
            nn.GELU(),
            nn.LayerNorm(config.hidden),
            nn.Linear(config.hidden, config.hidden),
            nn.GELU(),
            nn.Linear(config.hidden, config.horizon * 7),
        )

    def loss(self, batch: Batch) -> dict[str, Tensor]:
        predicted = self._predict(batch.observations, self.scene.prompt(batch.prompts))
        motion, vacuum = action_losses(predicted, batch, self.normalize_action)
        total = motion + self.config.vacuum_weight * vacuum
        return {"loss": total, "motion": motion, "vacuum": vacuum}

    def begin(self, prompts: Prompts, seeds: Sequence[int]) -> list[Any]:
        return [*self.scene.prompt(prompts)]

    def step(self, observations: Observations, memories: list[Any]) -> tuple[Tensor, list[Any]]:
        predicted = self._predict(observations, torch.stack(memories))
        actions = predicted[:, -1, : self.config.execution_horizon].float()
        return decide_vacuum(actions, self.normalize_action), memories

    def _predict(self, observations: Observations, prompt: Tensor) -> Tensor:
        """Return the next actions at each step (B, T, H, 7), with the logit of the vacuum as last
        entry, from embeddings (B, width) of prompts.
        """
        predicted: Tensor = self.head(self.scene(observations, prompt).flatten(1))
        return predicted.reshape(*observations.mask.shape, -1, 7)
