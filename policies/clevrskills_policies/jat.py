"""JAT, "jack of all trades" (Gallouédec et al. 2024, arXiv 2402.09844), with a multimodal prompt.

As in the ClevrSkills paper (appendix C.1), a causal transformer reads

    prompt, image 0, action 0, image 1, action 1, ...

Each image of the base camera (84 x 84 pixels) is one token, and so is each action. The original
JAT has no prompt; here it is the GPT-2 tokens of the words, with one token per image. The outputs
at images predict the next actions; the loss is the mean squared error. All weights are fine-tuned
from the published ones, with the hyperparameters of Table 4 of the ClevrSkills paper.

Details that the paper omits follow the published model, so that its weights fit. The transformer is
GPT-Neo with 512 positions; every other layer attends to the last 256 tokens only. An action is
repeated to fill a vector of width 377. Simplified: the fourth image channel, a fourth grey frame in
games, is zero; the next image is not predicted. If an episode is longer than a window, a full
window is replaced by the one that starts ``starts_every`` steps later, as in training. The tokens
of that window are read again, so the cost of a step is bounded.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers import DynamicCache, GPTNeoConfig, GPTNeoModel

from clevrskills.baselines.batch import Batch, Observations, Prompts, masked_mean
from clevrskills.baselines.policies.hub import LanguageTokenizer
from clevrskills.baselines.policy import LearnedPolicy
from clevrskills.baselines.prompts import ByteTokenizer, Tokenizer
from clevrskills.baselines.spec import PolicyConfig, PolicySpec
from clevrskills.core.checkpoint import WEIGHTS_FILE, read_tensors
from clevrskills.errors import ClevrSkillsError
from clevrskills_policies.hub import hub_file

_END = "<|endoftext|>"  # token of GPT-2 that no text contains
_TOKENIZER_DIR = "tokenizer"  # in a checkpoint
_CHANNELS = 4  # of images: four grey frames of a game in JAT
_SQUEEZE = 8  # reduction of the number of channels in channel attention
_WORDS, _PLACES = "transformer.wte.weight", "transformer.wpe.weight"
_SAME_WORDS = ("single_discrete_encoder.weight", "multi_discrete_encoder.0.weight")


@dataclass(frozen=True, kw_only=True)
class JATConfig(PolicyConfig):
    """Configuration of :class:`JAT`."""

    cameras: tuple[str, ...] = ("base_camera",)
    image_size: int = 84
    steps: int = 200
    starts_every: int | None = 100
    learning_rate: float = 1e-4
    batch_size: int = 64
    width: int = 768  # width of a token
    layers: int = 12  # number of transformer layers, even
    heads: int = 12  # number of attention heads
    reach: int = 256  # window of local attention, in tokens
    channels: tuple[int, ...] = (32, 64, 128)  # channels of image features after each block
    vector: int = 377  # width of an action vector
    prompt_tokens: int = 112  # maximum number of tokens of a prompt
    vocabulary: int = ByteTokenizer.size  # size of the vocabulary
    # folder or name of the published model, with its vocabulary; ``None``: random weights, with
    # bytes as tokens
    weights: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.cameras) != 1:
            raise ClevrSkillsError(f"JAT uses one camera, not {len(self.cameras)}")
        if self.proprioception:
            raise ClevrSkillsError("JAT takes no proprioception")
        if self.horizon != 1 or self.starts_every is None:
            raise ClevrSkillsError(
                "JAT predicts one action at a time: set horizon=1 and starts_every"
            )
        if self.layers % 2:
            raise ClevrSkillsError(f"layers must be an even number, not {self.layers}")

    @property
    def positions(self) -> int:
        """Maximum number of tokens of a sequence."""
        return self.prompt_tokens + 2 * self.steps


class ResNetEncoder(nn.Module):
    """Image encoder with one token per image: blocks of convolution, instance normalization and
    channel attention, then a linear layer.

    Args:
        size_px: Width and height of images in pixels.
        channels: Channels after each block.
        width: Width of a token.
    """

    def __init__(self, size_px: int, channels: Sequence[int], width: int) -> None:
        super().__init__()
        before = (_CHANNELS, *channels[:-1])
        self.blocks = nn.ModuleList(ConvBlock(*both) for both in zip(before, channels, strict=True))
        side = size_px
        for _ in channels:
            side = -(-side // 2)
        self.out = nn.Linear(channels[-1] * side**2, width)

    def forward(self, images: Tensor) -> Tensor:
        """Map images (N, 3, S, S) in [0, 1] -> tokens (N, width)."""
        features = functional.pad(images * 2 - 1, (0, 0, 0, 0, 0, _CHANNELS - 3))
        for block in self.blocks:
            features = block(features)
        token: Tensor = self.out(features.flatten(1))
        return token


class ConvBlock(nn.Module):
    """Convolution with stride 2, with channels weighted by attention over their spatial means.

    Args:
        before: Number of input channels.
        channels: Number of output channels.
    """

    def __init__(self, before: int, channels: int) -> None:
        super().__init__()
        self.convolution = nn.Conv2d(before, channels, 3, stride=2, padding=1)
        self.norm = nn.InstanceNorm2d(channels)
        self.attention = nn.Sequential(
            nn.Linear(channels, channels // _SQUEEZE, bias=False),
            nn.ReLU(),
            nn.Linear(channels // _SQUEEZE, channels, bias=False),
            nn.Sigmoid(),
        )

    def forward(self, features: Tensor) -> Tensor:
        """Map features (N, before, S, S) -> (N, channels, S / 2, S / 2)."""
        features = functional.leaky_relu(self.norm(self.convolution(features)))
        weights: Tensor = self.attention(features.mean((2, 3)))
        return features * weights[..., None, None]


@dataclass(frozen=True)
class JatState:
    """State of an episode in progress."""

    prompt: Tensor  # tokens of the prompt, (L, width)
    steps: Tensor  # tokens of the current window, images and actions, (2 t, width)
    cache: DynamicCache  # keys and values of the tokens read so far


class JAT(LearnedPolicy[JATConfig]):
    """JAT: a causal transformer over prompt, images and actions that predicts the next action."""

    config_type = JATConfig
    configurations: ClassVar = {
        "default": JATConfig(weights="jat-project/jat", vocabulary=50257),
        "tiny": JATConfig(
            image_size=32,
            steps=8,
            starts_every=4,
            batch_size=4,
            width=64,
            layers=2,
            heads=4,
            reach=16,
            channels=(8, 16, 32),
            vector=14,
            prompt_tokens=96,
            learning_rate=2e-3,
            warm_up_steps=10,
        ),
    }

    def __init__(self, config: JATConfig, spec: PolicySpec) -> None:
        super().__init__(config, spec)
        self.tokenizer: Tokenizer = ByteTokenizer()
        self.transformer = GPTNeoModel(
            GPTNeoConfig(
                vocab_size=config.vocabulary,
                max_position_embeddings=config.positions,
                hidden_size=config.width,
                num_layers=config.layers,
                num_heads=config.heads,
                attention_types=[[["global", "local"], config.layers // 2]],
                window_size=config.reach,
                bos_token_id=None,
                eos_token_id=None,
            )
        )
        self.image_encoder = ResNetEncoder(config.image_size, config.channels, config.width)
        self.continuous_encoder = nn.Linear(config.vector, config.width)
        self.continuous_decoder = nn.Linear(config.width, config.vector)

    def start(self) -> None:
        if self.config.weights is not None:
            self.tokenizer = LanguageTokenizer(self.config.weights, image=_END)
            load_published(self, self.config.weights)

    def write_files(self, folder: Path) -> None:
        if isinstance(self.tokenizer, LanguageTokenizer):
            self.tokenizer.save(folder / _TOKENIZER_DIR)

    def read_files(self, folder: Path) -> None:
        if self.config.weights is not None:
            self.tokenizer = LanguageTokenizer(str(folder / _TOKENIZER_DIR), image=_END)

    def loss(self, batch: Batch) -> dict[str, Tensor]:
        actions = self._repeated(batch.actions[:, :, 0])
        predicted = self.predict(batch.observations, batch.prompts, actions)
        return {"loss": masked_mean((predicted - actions) ** 2, batch.action_mask[:, :, 0])}

    def begin(self, prompts: Prompts, seeds: Sequence[int]) -> list[JatState]:
        tokens, mask = self._read(prompts)
        nothing = tokens[0, :0]
        return [
            JatState(row[exists], nothing, DynamicCache())
            for row, exists in zip(tokens, mask, strict=True)
        ]

    def step(
        self, observations: Observations, memories: list[JatState]
    ) -> tuple[Tensor, list[JatState]]:
        images = self._see(observations)[:, 0]
        both = [self._step(*one) for one in zip(images, memories, strict=True)]
        return torch.stack([action for action, _ in both]), [memory for _, memory in both]

    def predict(self, observations: Observations, prompts: Prompts, actions: Tensor) -> Tensor:
        """Return the predicted action vectors at each step of windows, (B, T, vector), normalized.

        Args:
            observations: Observations of the windows (B, T, ...).
            prompts: Their prompts.
            actions: Executed actions as normalized vectors (B, T, vector).
        """
        prompt, mask = _at_the_end(*self._read(prompts))
        steps = torch.stack([self._see(observations), self.continuous_encoder(actions)], 2)
        tokens = torch.cat([prompt, steps.flatten(1, 2)], 1)
        exists = functional.pad(mask, (0, tokens.shape[1] - mask.shape[1]), value=True)
        hidden = self.transformer(
            inputs_embeds=tokens,
            attention_mask=exists,
            position_ids=(exists.cumsum(1) - 1).clamp(min=0),
            use_cache=False,
        ).last_hidden_state
        predicted: Tensor = self.continuous_decoder(hidden[:, mask.shape[1] :: 2])
        return predicted

    def _step(self, image: Tensor, memory: JatState) -> tuple[Tensor, JatState]:
        """Return action (7,) and next state of an episode, given the token of an image (width,)."""
        if len(memory.steps) == 2 * self.config.steps:  # the window is full
            rest = memory.steps[2 * (self.config.starts_every or 0) :]
            memory = replace(memory, steps=rest, cache=DynamicCache())
        steps = torch.cat([memory.steps, image[None]])
        new = torch.cat([memory.prompt, steps])[memory.cache.get_seq_length() :]
        hidden = self.transformer(inputs_embeds=new[None], past_key_values=memory.cache)
        predicted = self.continuous_decoder(hidden.last_hidden_state[0, -1])[:7]
        done = self.normalize_action(self.normalize_action.inverse(predicted).clamp(-1.0, 1.0))
        token = self.continuous_encoder(self._repeated(done))
        return predicted, replace(memory, steps=torch.cat([steps, token[None]]))

    def _read(self, prompts: Prompts) -> tuple[Tensor, Tensor]:
        """Return the tokens of prompts (B, L, width), and their mask (B, L)."""
        tokens, mask, index = prompts.first(self.config.prompt_tokens)
        words = self.transformer.wte(tokens)
        images = torch.cat([self.image_encoder(prompts.images), words[:1, 0]])  # -1: none
        return torch.where(index[..., None] >= 0, images[index], words), mask

    def _see(self, observations: Observations) -> Tensor:
        """Return the token of each camera image, (B, T, width)."""
        images = observations.images[self.config.cameras[0]]
        encoded: Tensor = self.image_encoder(images.flatten(0, 1))
        return encoded.unflatten(0, images.shape[:2])

    def _repeated(self, actions: Tensor) -> Tensor:
        """Return actions (..., 7) as vectors (..., vector), filled by repetition."""
        return actions[..., torch.arange(self.config.vector, device=actions.device) % 7]


def _at_the_end(tokens: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """Return tokens (B, L, width) and mask (B, L), with padding moved to the front."""
    length = mask.shape[1]
    missing = (~mask).sum(1, keepdim=True)
    index = (torch.arange(length, device=mask.device) - missing) % length
    return tokens.gather(1, index[..., None].expand_as(tokens)), mask.gather(1, index)


def load_published(policy: JAT, name: str) -> None:
    """Load published weights into a policy, such as ``jat-project/jat`` on the hub.

    If the window is shorter than there, only the first position embeddings are used.

    Args:
        policy: The policy.
        name: Folder or name of the published model.

    Raises:
        ClevrSkillsError: The weights are missing or do not fit the configuration.
    """
    found = read_tensors(hub_file(name, WEIGHTS_FILE))
    for same in _SAME_WORDS:  # tied weights, stored under one of their names
        if same in found:
            found.setdefault(_WORDS, found[same])
    needed = policy.state_dict()
    weights = {}
    for ours, tensor in needed.items():
        published = found.get(_published(ours))
        if published is not None and ours == _PLACES:
            published = published[: len(tensor)]
        if published is None or published.shape != tensor.shape:
            problem = "is missing"
            if published is not None:
                problem = f"is {tuple(published.shape)}, not {tuple(tensor.shape)}"
            raise ClevrSkillsError(
                f"the weights of {name} do not fit this configuration: {_published(ours)} {problem}"
            )
        weights[ours] = published
    policy.load_state_dict(weights)


def _published(ours: str) -> str:
    """Return the name of a weight in the published model."""
    parts = ours.split(".")
    if parts[0] != "image_encoder":
        return ours
    if parts[1] == "out":
        return f"image_encoder.module.fc.{parts[2]}"
    block, layer, rest = int(parts[2]) + 1, parts[3], ".".join(parts[4:])
    kind = {"convolution": f"conv{block}", "attention": f"att{block}.fc"}[layer]
    return f"image_encoder.module.{kind}.{rest}"
