"""Behaviour cloning: a small policy that sees the present and answers with the next action.

It has no memory: the same picture and prompt always give the same action.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor, nn

from clevrskills.baselines.batch import Batch, Observations, Prompts, masked_mean
from clevrskills.baselines.policy import LearnedPolicy
from clevrskills.baselines.prompts import WordTokenizer
from clevrskills.baselines.small import Decoder, SceneEncoder, SmallConfig
from clevrskills.baselines.spec import PolicySpec

Memory = tuple[Tensor, Tensor]
"""The prompt as it was read (L, width), and which of its tokens exist (L,)."""


@dataclass(frozen=True, kw_only=True)
class BehaviorCloningConfig(SmallConfig):
    """Configuration of :class:`BehaviorCloning`.

    A window's steps are learned one by one; they are read together as that is quicker.

    Attributes:
        queries: Tokens with which it thinks.
    """

    steps: int = 8
    starts_every: int | None = 8
    batch_size: int = 16
    learning_rate: float = 3e-4
    queries: int = 8


class BehaviorCloning(LearnedPolicy[BehaviorCloningConfig]):
    """Pictures by convolutions, the prompt by a transformer; queries that look at both; one linear
    map to the action; mean squared error.
    """

    config_type = BehaviorCloningConfig
    configurations: ClassVar = {
        "default": BehaviorCloningConfig(),
        "tiny": BehaviorCloningConfig(
            image_size=32,
            width=64,
            heads=4,
            channels=(16, 16, 32),
            prompt_layers=1,
            layers=2,
            dropout=0.0,
            learning_rate=2e-3,
            warm_up_steps=10,
        ),
    }
    tokenizer = WordTokenizer()

    def __init__(self, config: BehaviorCloningConfig, spec: PolicySpec) -> None:
        super().__init__(config, spec)
        self.scene = SceneEncoder(config, self.tokenizer.size, self.state_size)
        self.decoder = Decoder(config, config.queries)
        self.head = nn.Linear(config.queries * config.width, config.horizon * 7)

    def loss(self, batch: Batch) -> dict[str, Tensor]:  # noqa: D102
        actions = self._actions(batch.observations, *self.scene.read(batch.prompts))
        return {"loss": masked_mean((actions - batch.actions) ** 2, batch.action_mask)}

    def begin(self, prompts: Prompts, seeds: Sequence[int]) -> list[Memory]:  # noqa: D102
        return list(zip(*self.scene.read(prompts), strict=True))

    def step(  # noqa: D102
        self, observations: Observations, memories: list[Memory]
    ) -> tuple[Tensor, list[Memory]]:
        prompt = nn.utils.rnn.pad_sequence([tokens for tokens, _ in memories], batch_first=True)
        mask = nn.utils.rnn.pad_sequence([there for _, there in memories], batch_first=True)
        return self._actions(observations, prompt, mask)[:, -1], memories

    def _actions(self, observations: Observations, prompt: Tensor, mask: Tensor) -> Tensor:
        """The next actions at each step, (B, T, H, 7)."""
        answers = self.decoder(*self.scene(observations, prompt, mask))
        actions: Tensor = self.head(answers.flatten(1))
        return actions.reshape(*observations.mask.shape, -1, 7)
