"""Behavior cloning up to version 0.2: kept so that its checkpoints act and are trained further."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from clevrskills.baselines.batch import Batch, Observations, Prompts, masked_mean
from clevrskills.baselines.policies.small_encoders import TINY, SceneEncoder, SmallEncoderConfig
from clevrskills.baselines.policy import LearnedPolicy
from clevrskills.baselines.prompts import WordTokenizer
from clevrskills.baselines.spec import PolicySpec
from clevrskills.errors import ClevrSkillsError


@dataclass(frozen=True, kw_only=True)
class FirstCloningConfig(SmallEncoderConfig):
    """Configuration of :class:`FirstCloning`.

    Attributes:
        hidden: Units of each of the two hidden layers.
        execution_horizon: How many of the next H actions are done before it looks again.
    """

    learning_rate: float = 1e-3
    hidden: int = 512
    execution_horizon: int = 4

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 1 <= self.execution_horizon <= self.horizon:
            raise ClevrSkillsError(
                f"execution_horizon must be 1 to horizon, {self.horizon}, "
                f"not {self.execution_horizon}"
            )


class FirstCloning(LearnedPolicy[FirstCloningConfig]):
    """Where things are in the images, by convolutions that the prompt steers; two hidden layers;
    mean squared error.
    """

    config_type = FirstCloningConfig
    configurations: ClassVar = {
        "default": FirstCloningConfig(),
        "small": FirstCloningConfig(
            image_size=96, width=128, heads=4, channels=(16, 32, 32), places=32, dropout=0.0
        ),
        "tiny": FirstCloningConfig(places=16, hidden=128, **TINY),
    }
    tokenizer = WordTokenizer()

    def __init__(self, config: FirstCloningConfig, spec: PolicySpec) -> None:
        super().__init__(config, spec)
        self.scene = SceneEncoder(config, self.tokenizer.size, self.state_size)
        self.head = nn.Sequential(
            nn.Linear(self.scene.count * config.width, config.hidden),
            nn.GELU(),
            nn.LayerNorm(config.hidden),
            nn.Linear(config.hidden, config.hidden),
            nn.GELU(),
            nn.Linear(config.hidden, config.horizon * 7),
        )

    def loss(self, batch: Batch) -> dict[str, Tensor]:
        actions = self._actions(batch.observations, self.scene.prompt(batch.prompts))
        return {"loss": masked_mean((actions - batch.actions) ** 2, batch.action_mask)}

    def begin(self, prompts: Prompts, seeds: Sequence[int]) -> list[Tensor]:
        return list(self.scene.prompt(prompts))

    def step(
        self, observations: Observations, memories: list[Tensor]
    ) -> tuple[Tensor, list[Tensor]]:
        actions = self._actions(observations, torch.stack(memories))
        return actions[:, -1, : self.config.execution_horizon], memories

    def _actions(self, observations: Observations, aim: Tensor) -> Tensor:
        """The next actions at each step, (B, T, H, 7)."""
        actions: Tensor = self.head(self.scene(observations, aim).flatten(1))
        return actions.reshape(*observations.mask.shape, -1, 7)
