"""StreamRoboLM, the policy of the ClevrSkills paper (section 5 and appendix C.3).

A language model, adapted by LoRA, reads the prompt, with one image token per image, and then one
image token per control step. Gated cross-attention layers (Flamingo) let each image token attend to
its image, or its images of all cameras. Tokens of words attend to the latest image before them. An
LSTM and a head map the outputs at control steps to actions; the loss is the mean squared error.

Tokens attend to the whole prompt and to the latest ``window`` control steps, in training as well.
Keys and values are cached, so the cost of a step is constant. Long episodes are split into windows
of ``steps`` control steps, as in training: every ``starts_every`` steps another stream begins after
the prompt, with an empty LSTM state. The oldest stream acts until it has ``steps`` steps.

Not in the paper, and chosen here: cross-attention before every fourth layer, to all features of the
vision transformer, with open gates, as closed ones hardly open at a learning rate of 1e-6; a hidden
layer after the LSTM; proprioception, if used, as an input of the LSTM. Positions in the language
model count up to the greatest one that it knows.

``compact`` starts from random weights, except for frozen perception of the policy ``compact`` as
image encoder. That encoder also finds what the images of the prompt show; the LSTM gets these
positions beside proprioception. All positions are relative to the end effector. Joints, its
position on the table, the vacuum and earlier steps are hidden: they tell how the arm has moved so
far, and a policy that sees them continues that motion (causal confusion, de Haan et al. 2019,
arXiv 1905.11979). The policy predicts several actions, executes the first, and has a
cross-entropy loss for the vacuum.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers import DynamicCache

from clevrskills.baselines.batch import Batch, Observations, Prompts, masked_mean
from clevrskills.baselines.policies.flamingo import GatedCrossAttention, Look, VisionConditionedLM
from clevrskills.baselines.policies.hub import language_dtype, make_tokenizer
from clevrskills.baselines.policies.layers import mlp
from clevrskills.baselines.policies.losses import action_losses, decide_vacuum
from clevrskills.baselines.policies.stream_robolm.backbones import (
    PERCEPTION,
    RANDOM_IMAGE_ENCODERS,
    RANDOM_LANGUAGE_MODELS,
    PerceptionEncoder,
    PretrainedEncoder,
    load_trained,
    make_image_encoder,
    make_language_model,
)
from clevrskills.baselines.policies.stream_robolm.cache import (
    Cache,
    cut,
    forget,
    stack,
    window_mask,
)
from clevrskills.baselines.policy import LearnedPolicy
from clevrskills.baselines.spec import PolicyConfig, PolicySpec

_HIDDEN = {"qpos": None, "vacuum_on": None, "ee_pose": 2}
"""Leading numbers of parts of the state that are hidden if positions are relative to the end
effector; ``None``: all.
"""
_ORIGIN = (0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True, kw_only=True)
class StreamRoboLMConfig(PolicyConfig):
    """Configuration; image size, learning rate and batch size are those of Table 4 of the paper.

    ``lab`` is ours: at the paper's rate of 1e-6, AdamW moves no weight by more than 0.011 in 20,000
    steps, so new parts learn at 2e-4, and pretrained ones more slowly.
    """

    steps: int = 128
    starts_every: int | None = 64
    learning_rate: float = 1e-6
    batch_size: int = 12
    language_model: str = "facebook/opt-1.3b"  # see ``backbones.py``
    # vision transformer, or ``compact``: the frozen perception of a compact policy
    image_encoder: str = "google/vit-base-patch16-224"
    perception: str = "zoo/compact-l0"  # checkpoint from which ``compact`` starts
    lora_rank: int | None = 16  # ``None``: full fine-tuning
    cross_every: int = 4  # layers per cross-attention layer
    cross_heads: int = 8
    gate: float = 0.5  # initial value of the gates, before the tanh
    window: int = 128  # control steps that a token attends to; 1: the LSTM has no memory either
    lstm_width: int = 1024
    lstm_layers: int = 2
    recompute: bool = True  # gradient checkpointing of the vision transformer
    language_dtype: str = "float32"  # of frozen published weights: ``bfloat16`` or ``float32``
    # weight of the cross-entropy of the vacuum; 0: the vacuum has a squared error like the others
    vacuum_weight: float = 0.0

    remembers = True

    def __post_init__(self) -> None:
        super().__post_init__()
        language_dtype(self.language_dtype)


@dataclass(frozen=True)
class Stream:
    """Cached context of a window of an episode."""

    cache: Cache
    age: int  # control steps in it
    state: tuple[Tensor, Tensor]  # of the LSTM, each (layers, 1, width)


@dataclass(frozen=True)
class StreamState:
    """State of an episode in progress."""

    begun: Stream  # of the prompt alone
    shown: Tensor  # what the prompt shows, of the image encoder
    prompt: int  # length of the prompt in tokens
    age: int  # control steps
    streams: tuple[Stream, ...]  # the oldest one first


class ImageContext(nn.Module):
    """Features of images, with embeddings of their source (prompt or camera), and cross-attention.

    Args:
        images: Image encoder.
        cameras: The cameras.
    """

    def __init__(
        self, images: PretrainedEncoder | PerceptionEncoder, cameras: tuple[str, ...]
    ) -> None:
        super().__init__()
        self.images = images
        self._cameras = cameras
        self.kinds = nn.Parameter(torch.randn(len(cameras) + 1, images.width) * 0.02)

    def prompt(self, prompts: Prompts, shown: Tensor) -> Look:
        """Return cross-attention of the tokens of prompts (B, P, width), after a first token, to
        their image or the latest one before them; ``shown`` is of the image encoder.
        """
        index = functional.pad(prompts.image_index, (1, 0), value=-1)  # (B, P)
        latest = (index >= 0).cumsum(1)  # from 1 on; 0: none yet
        most = max(1, int(latest.max()))
        rows, columns = (index >= 0).nonzero(as_tuple=True)
        owner = rows.new_zeros(len(prompts.images)).index_put((index[rows, columns],), rows)
        encoded = self.images(prompts.images, shown[owner])[0] + self.kinds[0]  # (M, K, width)
        features = encoded.new_zeros(len(index), most, *encoded.shape[1:])
        places = rows, latest[rows, columns] - 1
        features = features.index_put(places, encoded[index[rows, columns]]).flatten(1, 2)
        mask = latest[..., None] == torch.arange(1, most + 1, device=index.device)
        mask = mask.repeat_interleave(encoded.shape[1], 2)
        return lambda block, tokens: block(tokens, features, mask)

    def steps(
        self,
        observations: Observations,
        shown: Tensor,
        poses: Tensor,
        rows: Tensor | None = None,
    ) -> tuple[Look, Tensor]:
        """Return cross-attention of the tokens of control steps (B, T, width) to their images, and
        the positions of what the prompts show, (B, T, places).

        Args:
            observations: The control steps.
            shown: What their prompts show, (B, ...), of the image encoder.
            poses: Poses of the end effector, (B, T, 7).
            rows: For tokens (N, 1, width), the index of the control step of each among B single
                ones; ``None``: one token for each control step.
        """
        places = observations.mask.nonzero(as_tuple=True)
        encoded = [
            self.images(observations.images[c][places], shown[places[0]], poses[places])
            for c in self._cameras
        ]
        features = [of + kind for (of, _), kind in zip(encoded, self.kinds[1:], strict=True)]
        joined, found = torch.cat(features, 1), encoded[0][1]
        found = found.new_zeros(*observations.mask.shape, found.shape[-1]).index_put(places, found)
        if rows is not None:
            joined, found = joined[rows], found[rows]
            places = (torch.arange(len(rows)), torch.zeros_like(rows))

        def look(block: GatedCrossAttention, tokens: Tensor) -> Tensor:
            attended = block(tokens[places][:, None], joined)[:, 0]
            return tokens.index_put(places, attended.to(tokens.dtype))

        return look, found


class StreamRoboLM(LearnedPolicy[StreamRoboLMConfig]):
    """Language model over prompt and images as one stream of tokens, with an action head."""

    inputs: Tensor
    """Factors of the state, zeros for hidden numbers, (S,)."""
    config_type = StreamRoboLMConfig
    configurations: ClassVar = {
        "default": StreamRoboLMConfig(language_dtype="bfloat16"),
        "opt": StreamRoboLMConfig(language_dtype="bfloat16"),
        "llama": StreamRoboLMConfig(
            language_model="meta-llama/Llama-3.2-3B", language_dtype="bfloat16"
        ),
        "lab": StreamRoboLMConfig(
            language_dtype="bfloat16",
            learning_rate=2e-4,
            part_rates=(("sight.images", 0.05), ("language.model", 0.5)),
            vacuum_weight=0.1,
        ),
        "compact": StreamRoboLMConfig(
            cameras=("base_camera",),
            proprioception=True,
            steps=2,
            starts_every=2,
            learning_rate=7e-4,
            batch_size=128,
            warm_up_steps=100,
            language_model="compact-opt",
            image_encoder="compact",
            lora_rank=None,
            cross_every=2,
            cross_heads=2,
            gate=1.0,
            window=1,
            lstm_width=256,
            lstm_layers=1,
            recompute=False,
            horizon=8,
            vacuum_weight=0.1,
        ),
        "tiny": StreamRoboLMConfig(
            image_size=32,
            steps=8,
            starts_every=8,
            learning_rate=3e-3,
            batch_size=4,
            warm_up_steps=10,
            language_model="tiny-opt",
            image_encoder="tiny-vit",
            lora_rank=4,
            cross_every=1,
            cross_heads=2,
            gate=1.0,
            window=8,
            lstm_width=128,
            lstm_layers=1,
            recompute=False,
        ),
    }

    def __init__(self, config: StreamRoboLMConfig, spec: PolicySpec) -> None:
        super().__init__(config, spec)
        self.tokenizer = make_tokenizer(config.language_model, RANDOM_LANGUAGE_MODELS)
        of_images = config.image_encoder, config.image_size, config.recompute, config.perception
        images = make_image_encoder(*of_images)
        self.sight = ImageContext(images, config.cameras)
        dtype = language_dtype(config.language_dtype)
        model = make_language_model(config.language_model, config.lora_rank, dtype)
        self.language = VisionConditionedLM(
            model, images.width, config.cross_every, config.cross_heads, config.gate
        )
        self.image_token = nn.Parameter(torch.randn(self.language.width) * 0.02)
        inputs = torch.ones(self.state_size)
        if self.state_size and images.places:
            parts = inputs.split([*spec.state_parts.values()])
            for name, part in zip(spec.state_parts, parts, strict=True):
                part[: _HIDDEN.get(name, 0)] = 0
        self.register_buffer("inputs", inputs, persistent=False)
        known, width = self.state_size + images.places, config.lstm_width
        self.lstm = nn.LSTM(
            self.language.width + known, width, config.lstm_layers, batch_first=True
        )
        self.head = mlp(width + known, width, config.horizon * 7, activation=nn.ReLU)

    def start(self) -> None:
        self.sight.images.start()
        if self.config.lora_rank is None:
            load_trained(self.language.model, "language model", self.config.language_model)

    def pretrained(self) -> set[str]:
        if self.config.language_model in RANDOM_LANGUAGE_MODELS:
            return set()
        model = self.language.model.named_parameters(prefix="language.model")
        return {name for name, parameter in model if not parameter.requires_grad}

    @property
    def part_from(self) -> str:
        return self.config.perception if self.config.image_encoder == PERCEPTION else ""

    @property
    def starts_published(self) -> bool:
        names = {self.config.language_model, self.config.image_encoder}
        return not names <= {*RANDOM_LANGUAGE_MODELS, *RANDOM_IMAGE_ENCODERS, PERCEPTION}

    def loss(self, batch: Batch) -> dict[str, Tensor]:
        predicted = self._predict(self._known(batch.observations, batch.prompts))
        if not self.config.vacuum_weight:
            return {"loss": masked_mean((predicted - batch.actions) ** 2, batch.action_mask)}
        motion, vacuum = action_losses(predicted, batch, self.normalize_action)
        total = motion + self.config.vacuum_weight * vacuum
        return {"loss": total, "motion": motion, "vacuum": vacuum}

    def begin(self, prompts: Prompts, seeds: Sequence[int]) -> list[StreamState]:
        tokens, mask = self._read(prompts)
        cache, shown = DynamicCache(), self.sight.images.shown(prompts)
        self.language(
            self.sight.prompt(prompts, shown),
            inputs_embeds=tokens,
            attention_mask=window_mask(mask, 0, self.config.window),
            position_ids=self._positions(mask, 0),
            past_key_values=cache,
            use_cache=True,
        )
        zeros = tokens.new_zeros(self.config.lstm_layers, 1, self.config.lstm_width)
        return [
            StreamState(Stream(cut(cache, row, slice(n)), 0, (zeros, zeros)), shown[row], n, 0, ())
            for row, n in enumerate(mask.sum(1).tolist())
        ]

    def step(
        self, observations: Observations, memories: list[StreamState]
    ) -> tuple[Tensor, list[StreamState]]:
        live = [self._live(memory) for memory in memories]
        flat = [stream for streams in live for stream in streams]
        counts = torch.tensor([len(streams) for streams in live], device=self.device)
        rows = torch.arange(len(memories), device=self.device).repeat_interleave(counts)
        lengths = [memories[row].prompt for row in rows.tolist()]
        cache, mask = stack([stream.cache for stream in flat])
        shown, poses = torch.stack([m.shown for m in memories]), self._poses(observations.state)
        look, places = self.sight.steps(observations, shown, poses, rows)
        ages = [[length + s.age] for length, s in zip(lengths, flat, strict=True)]
        answers = self.language(
            look,
            inputs_embeds=self.image_token.expand(len(flat), 1, -1),
            attention_mask=mask,
            position_ids=torch.tensor(ages, device=self.device).clamp(max=self._last_position),
            past_key_values=cache,
            use_cache=True,
        )
        before = zip(*(stream.state for stream in flat), strict=True)
        hidden, cell = (torch.cat(parts, 1) for parts in before)
        observed = observations.state[rows]
        out, (hidden, cell) = self._remember(answers, observed, places, (hidden, cell))
        read = []
        for row, (length, stream) in enumerate(zip(lengths, flat, strict=True)):
            kept = cut(cache, row, slice(-(stream.cache[0][0].shape[-2] + 1), None))
            state = hidden[:, row : row + 1], cell[:, row : row + 1]
            kept = forget(kept, length, self.config.window)
            read.append(Stream(kept, stream.age + 1, state))
        first = counts.cumsum(0) - counts  # the oldest stream of each episode
        after = [
            replace(m, age=m.age + 1, streams=tuple(read[k : k + n]))
            for m, k, n in zip(memories, first.tolist(), counts.tolist(), strict=True)
        ]
        predicted = self._predict(out[first, -1])[:, :1]  # an image is read at each control step
        if self.config.vacuum_weight:
            predicted = decide_vacuum(predicted, self.normalize_action)
        return predicted, after

    def _live(self, memory: StreamState) -> list[Stream]:
        """Return the streams that get the next control step of an episode, the oldest first."""
        streams = [s for s in memory.streams if s.age < self.config.steps]
        if memory.age % (self.config.starts_every or self.config.steps) == 0:
            streams.append(memory.begun)
        return streams

    def _predict(self, known: Tensor) -> Tensor:
        """Return the next actions (..., H, 7) from outputs of the LSTM."""
        predicted: Tensor = self.head(known)
        return predicted.unflatten(-1, (-1, 7))

    def _known(self, observations: Observations, prompts: Prompts) -> Tensor:
        """Return the outputs of :meth:`_remember` at each control step, (B, T, ...)."""
        steps = observations.mask.shape[1]
        tokens, mask = self._read(prompts)
        stream = self.image_token.expand(len(tokens), steps, -1)
        shown = self.sight.images.shown(prompts)
        of_prompt = self.sight.prompt(prompts, shown)
        of_steps, places = self.sight.steps(observations, shown, self._poses(observations.state))

        def look(block: GatedCrossAttention, stream: Tensor) -> Tensor:
            parts = stream.split((stream.shape[1] - steps, steps), 1)
            return torch.cat([of_prompt(block, parts[0]), of_steps(block, parts[1])], 1)

        answers = self.language(
            look,
            inputs_embeds=torch.cat([tokens, stream], 1),
            attention_mask=window_mask(mask, steps, self.config.window),
            position_ids=self._positions(mask, steps),
            use_cache=False,
        )
        out, _ = self._remember(answers[:, -steps:], observations.state, places)
        return out

    def _remember(
        self,
        answers: Tensor,
        state: Tensor,
        places: Tensor,
        memory: tuple[Tensor, Tensor] | None = None,
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """Return the LSTM's outputs with proprioception and positions, and its state, in float32,
        as CPUs have no LSTM in bfloat16.
        """
        with torch.autocast(answers.device.type, enabled=False):
            known = torch.cat([state.float() * self.inputs, places.float()], -1)
            inputs, shape = torch.cat([answers.float(), known], -1), answers.shape[:2]
            if self.config.window == 1:
                inputs, memory = inputs.flatten(0, 1)[:, None], None
            out, after = self.lstm(inputs, memory)
            return torch.cat([out.reshape(*shape, -1), known], -1), after

    def _poses(self, state: Tensor) -> Tensor:
        """Return the poses of the end effector in states (B, T, S), (B, T, 7); those of the world
        frame without states, or if the image encoder gives no positions.
        """
        if not (self.state_size and self.sight.images.places):
            return state.new_tensor(_ORIGIN).expand(*state.shape[:-1], 7)
        parts = self.normalize_state.inverse(state).split([*self.spec.state_parts.values()], -1)
        return dict(zip(self.spec.state_parts, parts, strict=True))["ee_pose"]

    def _read(self, prompts: Prompts) -> tuple[Tensor, Tensor]:
        """Return the tokens of prompts after a first one, (B, P, width), and their mask (B, P)."""
        words = functional.pad(
            prompts.tokens, (1, 0), value=self.language.model.config.bos_token_id
        )
        image = functional.pad(prompts.image_index >= 0, (1, 0))[..., None]
        tokens = self.language.embed(words.masked_fill(image[..., 0], 0))
        mask = functional.pad(prompts.mask, (1, 0), value=True)
        return torch.where(image, self.image_token, tokens), mask

    def _positions(self, prompt: Tensor, steps: int) -> Tensor:
        """Return the positions of tokens of prompts, with a mask (B, P), and of control steps after
        them, (B, P + T).
        """
        read = torch.arange(prompt.shape[1], device=prompt.device).expand(len(prompt), -1)
        acted = prompt.sum(1, keepdim=True) + torch.arange(steps, device=prompt.device)
        return torch.cat([read, acted], 1).clamp(max=self._last_position)

    @property
    def _last_position(self) -> int:
        """Greatest position that the language model knows."""
        return int(self.language.model.config.max_position_embeddings) - 1
