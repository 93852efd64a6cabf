"""Action chunking with transformers, after ACT (Zhao et al. 2023, arXiv 2304.13705).

As in ACT, a transformer encodes the observation and decodes the next H actions at once. The loss is
the mean absolute error, and predictions of all chunks for the current step are averaged (temporal
ensembling). Differences: no variational style encoder, since the demonstrations of one oracle
hardly differ in style; a small image encoder trained from scratch; and a prompt.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from torch import Tensor, nn

from clevrskills.baselines.batch import Batch, Observations, Prompts, masked_mean
from clevrskills.baselines.policies.layers import transformer_encoder
from clevrskills.baselines.policies.small_encoders import (
    TINY,
    SceneEncoder,
    SmallEncoderConfig,
    layer,
)
from clevrskills.baselines.policy import LearnedPolicy
from clevrskills.baselines.prompts import WordTokenizer
from clevrskills.baselines.spec import PolicySpec


@dataclass(frozen=True, kw_only=True)
class ActionChunkingConfig(SmallEncoderConfig):
    """Configuration of :class:`ActionChunking`."""

    learning_rate: float = 3e-4
    encoder_layers: int = 2  # layers of the encoder
    layers: int = 4  # layers of the decoder
    # exponential decay of the weights of chunks, greatest for the oldest (ACT, section 4)
    decay: float = 0.01


@dataclass(frozen=True)
class ActState:
    """State of an episode in progress."""

    aim: Tensor  # embedding of the prompt, (width,)
    # remaining actions of the latest chunks, the oldest first, each (at most H, 7)
    chunks: tuple[Tensor, ...] = ()


class ActionChunking(LearnedPolicy[ActionChunkingConfig]):
    """ACT: a transformer that predicts the next H actions from the current observation."""

    config_type = ActionChunkingConfig
    configurations: ClassVar = {
        "default": ActionChunkingConfig(),
        "tiny": ActionChunkingConfig(
            layers=1, encoder_layers=1, steps=2, starts_every=2, horizon=4, **TINY
        ),
    }
    tokenizer = WordTokenizer()

    def __init__(self, config: ActionChunkingConfig, spec: PolicySpec) -> None:
        super().__init__(config, spec)
        self.scene = SceneEncoder(config, self.tokenizer.size, self.state_size)
        self.encoder = transformer_encoder(layer(config), config.encoder_layers)
        self.queries = nn.Parameter(torch.randn(config.horizon, config.width) * 0.02)
        self.decoder = nn.TransformerDecoder(
            nn.TransformerDecoderLayer(**layer(config)), config.layers, nn.LayerNorm(config.width)
        )
        self.head = nn.Linear(config.width, 7)

    def loss(self, batch: Batch) -> dict[str, Tensor]:
        actions = self._actions(batch.observations, self.scene.prompt(batch.prompts))
        return {"loss": masked_mean((actions - batch.actions).abs(), batch.action_mask)}

    def begin(self, prompts: Prompts, seeds: Sequence[int]) -> list[ActState]:
        return [ActState(aim) for aim in self.scene.prompt(prompts)]

    def step(
        self, observations: Observations, memories: list[ActState]
    ) -> tuple[Tensor, list[ActState]]:
        chunks = self._actions(observations, torch.stack([m.aim for m in memories]))[:, -1]
        actions, after = [], []
        for memory, chunk in zip(memories, chunks, strict=True):
            chunks_now = (*memory.chunks, chunk)
            actions.append(self._average(torch.stack([one[0] for one in chunks_now])))
            rest = tuple(one[1:] for one in chunks_now if len(one) > 1)
            after.append(replace(memory, chunks=rest))
        return torch.stack(actions), after

    def _actions(self, observations: Observations, aim: Tensor) -> Tensor:
        """Return the next actions at each step, (B, T, H, 7)."""
        scene = self.encoder(self.scene(observations, aim))
        actions: Tensor = self.head(self.decoder(self.queries.expand(len(scene), -1, -1), scene))
        return actions.unflatten(0, observations.mask.shape)

    def _average(self, actions: Tensor) -> Tensor:
        """Return the average (7,) of the actions of chunks at one step (k, 7), oldest first."""
        age = torch.arange(len(actions), device=actions.device)
        weights = torch.softmax(-self.config.decay * age, 0)
        return weights @ actions
