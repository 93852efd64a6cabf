"""JAT, the "jack of all trades" (Gallouédec et al. 2024, arXiv 2402.09844), prompted with its task.

As the ClevrSkills paper has it (appendix C.1): a causal transformer reads

    prompt, image 0, action 0, image 1, action 1, ...

where each image of the base camera, 84 x 84 pixels, is one token, each action is a token, and the
prompt, which JAT itself does not have, is the words' tokens of GPT-2 with a token for each image.
At each image it says the next action; the loss is the mean squared error. Everything is trained,
from the weights that JAT's authors have published, with the numbers of the paper's table 4.

What the paper leaves open is as in the published model, so that its weights fit: the transformer is
GPT-Neo with 512 positions, every other layer sees only the last 256 tokens, and an action fills the
377 numbers of a vector by being repeated. Simplified: the images' fourth channel, in games one
more grey frame, is empty; the next image is not predicted; and where an episode is longer than a
window, windows take turns: one that is full is left for the next one, which starts
``starts_every`` steps later and is read again, as in training. So the cost of a step is bounded.
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

_END = "<|endoftext|>"  # of GPT-2's vocabulary; no text has it
_TOKENIZER_DIR = "tokenizer"  # within a checkpoint
_CHANNELS = 4  # that JAT sees: four grey frames of a game
_SQUEEZE = 8  # fewer numbers between the two layers that weight the channels
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
    width: int = 768  # numbers in a token
    layers: int = 12  # layers of the transformer, an even number
    heads: int = 12  # heads of attention
    reach: int = 256  # how many tokens back every other layer sees
    channels: tuple[int, ...] = (32, 64, 128)  # channels of the images' features after each block
    vector: int = 377  # numbers in the vector that an action fills
    prompt_tokens: int = 112  # tokens of a prompt that are read
    vocabulary: int = ByteTokenizer.size  # how many different tokens there are
    # folder or name of the published model that it starts from, which has the vocabulary too;
    # ``None``: it starts from nothing, and reads bytes
    weights: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.cameras) != 1:
            raise ClevrSkillsError(f"JAT sees one camera, not {len(self.cameras)}")
        if self.proprioception:
            raise ClevrSkillsError("JAT is not told the robot's own state: no proprioception")
        if self.horizon != 1 or self.starts_every is None:
            raise ClevrSkillsError("JAT says one action at a time: horizon 1, and starts_every")
        if self.layers % 2:
            raise ClevrSkillsError(f"layers must be an even number, not {self.layers}")

    @property
    def positions(self) -> int:
        """Tokens in the longest sequence."""
        return self.prompt_tokens + 2 * self.steps


class ResNetEncoder(nn.Module):
    """Images as one token each: blocks of convolution, instance normalization and attention to
    channels, then one linear map.

    Args:
        size_px: Width and height of the images.
        channels: Channels after each block.
        width: Numbers in a token.
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
    """Half the width and height, and channels weighted by what the whole image has of them.

    Args:
        before: Channels that come in.
        channels: Channels that go out.
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

    prompt: Tensor  # the tokens of the prompt, (L, width)
    steps: Tensor  # the tokens of the present window so far, images and actions, (2 t, width)
    cache: DynamicCache  # keys and values of the tokens that the transformer has read


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
        """Return the outputs at each step of whole windows, (B, T, vector).

        Args:
            observations: The windows (B, T, ...).
            prompts: Their prompts.
            actions: The action that was done at each step, as a vector (B, T, vector).
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
        """Go on by an image's token (width,) in one episode: the action (7,)."""
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
        """Return the tokens of prompts (B, L, width), and which of them exist (B, L)."""
        tokens, mask, index = prompts.first(self.config.prompt_tokens)
        words = self.transformer.wte(tokens)
        images = torch.cat([self.image_encoder(prompts.images), words[:1, 0]])  # -1: none
        return torch.where(index[..., None] >= 0, images[index], words), mask

    def _see(self, observations: Observations) -> Tensor:
        """Return a token for each image of the camera, (B, T, width)."""
        images = observations.images[self.config.cameras[0]]
        encoded: Tensor = self.image_encoder(images.flatten(0, 1))
        return encoded.unflatten(0, images.shape[:2])

    def _repeated(self, actions: Tensor) -> Tensor:
        """Return actions (..., 7), repeated until they fill a vector (..., vector)."""
        return actions[..., torch.arange(self.config.vector, device=actions.device) % 7]


def _at_the_end(tokens: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """Return tokens (B, L, width) and mask (B, L), padded at the front."""
    length = mask.shape[1]
    missing = (~mask).sum(1, keepdim=True)
    index = (torch.arange(length, device=mask.device) - missing) % length
    return tokens.gather(1, index[..., None].expand_as(tokens)), mask.gather(1, index)


def load_published(policy: JAT, name: str) -> None:
    """Fill a policy with published weights, such as ``jat-project/jat`` on the hub.

    A shorter window needs the first rows of the table of positions only.

    Args:
        policy: The policy.
        name: Folder or name of the published model.

    Raises:
        ClevrSkillsError: They are not there, or do not fit.
    """
    found = read_tensors(hub_file(name, WEIGHTS_FILE))
    for same in _SAME_WORDS:  # one matrix, which is kept under one of its names
        if same in found:
            found.setdefault(_WORDS, found[same])
    needed = policy.state_dict()
    weights = {}
    for ours, tensor in needed.items():
        published = found.get(_published(ours))
        if published is not None and ours == _PLACES:
            published = published[: len(tensor)]
        if published is None or published.shape != tensor.shape:
            problem = "is missing" if published is None else f"is {tuple(published.shape)}"
            raise ClevrSkillsError(
                f"the weights of {name} do not fit this configuration: {_published(ours)} "
                f"{problem}, not {tuple(tensor.shape)}"
            )
        weights[ours] = published
    policy.load_state_dict(weights)


def _published(ours: str) -> str:
    """Return the published name of a weight."""
    parts = ours.split(".")
    if parts[0] != "image_encoder":
        return ours
    if parts[1] == "out":
        return f"image_encoder.module.fc.{parts[2]}"
    block, layer, rest = int(parts[2]) + 1, parts[3], ".".join(parts[4:])
    kind = {"convolution": f"conv{block}", "attention": f"att{block}.fc"}[layer]
    return f"image_encoder.module.{kind}.{rest}"
