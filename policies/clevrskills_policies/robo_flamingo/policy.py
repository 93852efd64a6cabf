"""RoboFlamingo (Li et al. 2023, arXiv 2311.01378), as in the ClevrSkills paper (appendix C.2).

A vision-language model, OpenFlamingo, encodes single observations: it reads the instruction with
each image of the prompt, and then at each control step with the images of all cameras. Its outputs
are max-pooled over the instruction and passed to an LSTM, with MLPs for pose and gripper on top.
Image encoder and language model are frozen. The resampler, the cross-attention layers and the
policy head are trained as in RoboFlamingo's code. The loss is the Huber loss of the pose plus, with
a small weight, the cross-entropy of the gripper. Images are shifted at random, and the learning
rate is constant after 5000 steps. At each control step the LSTM starts from its initial state and
reads the outputs for the prompt and for the latest ``steps`` control steps, as in training
(RoboFlamingo's window). So the cost of a step is bounded.

Without ``weights``, the trained parts start from random weights, with partly open gates and a
learning rate of ``scratch_rate``. Closed gates would hardly open at the published rate.

Simplified: the image token marks the positions of images in an instruction, but without their
features; padding is excluded from max-pooling; outputs are those of the last layer. If
proprioception is used, a linear map of it is added to the outputs.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, repeat
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import pad_sequence

from clevrskills.baselines.batch import Batch, Observations, Prompts, masked_mean
from clevrskills.baselines.policies.flamingo import (
    GatedCrossAttention,
    VisionConditionedLM,
)
from clevrskills.baselines.policies.hub import language_dtype, make_tokenizer
from clevrskills.baselines.policies.layers import mlp
from clevrskills.baselines.policy import LearnedPolicy
from clevrskills.baselines.spec import PolicyConfig, PolicySpec
from clevrskills.errors import ClevrSkillsError
from clevrskills_policies.augmentation import shift
from clevrskills_policies.robo_flamingo.backbones import (
    TINY_IMAGE_ENCODER,
    TINY_LANGUAGE_MODEL,
    ClipEncoder,
    make_language_model,
)
from clevrskills_policies.robo_flamingo.resampler import PerceiverResampler
from clevrskills_policies.robo_flamingo.weights import WORDS, load_published, weights_file

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class RoboFlamingoConfig(PolicyConfig):
    """Configuration. Image size, learning rate and batch size are those of Table 4 of the
    ClevrSkills paper; other values are those of RoboFlamingo's code for its best model.
    """

    steps: int = 12
    starts_every: int | None = 6
    learning_rate: float = 1e-6
    batch_size: int = 6
    language_model: str = "anas-awadalla/mpt-1b-redpajama-200b-dolly"  # see ``backbones.py``
    # images are scaled to its input size
    image_encoder: str = "openai/clip-vit-large-patch14"
    # published weights of OpenFlamingo or RoboFlamingo: a file, or a folder or name on the hub with
    # a ``checkpoint.pt``
    weights: str | None = None
    cross_every: int = 1  # layers per cross-attention layer
    cross_heads: int = 8  # attention heads of cross-attention and resampler
    gate: float = 0.5  # initial value of the gates without ``weights``, before the tanh
    scratch_rate: float = 1e-4  # highest learning rate without ``weights``
    weight_decay: float = 0.1
    warm_up_steps: int = 5000
    final_rate: float = 1.0
    # maximum random shift of images in training, for each of ``cameras``, at a size of 224 pixels
    shifts_px: tuple[int, ...] = (10, 4)
    latents: int = 64  # features per image after the resampler
    resampler_depth: int = 6  # number of layers of the resampler
    lstm_width: int = 1024
    lstm_layers: int = 4
    lstm_dropout: float = 0.1  # between layers
    head_widths: tuple[int, ...] = (1024, 512, 256)  # widths of the MLPs for pose and gripper
    gripper_weight: float = 0.01  # weight of the loss of the gripper
    # data type of a published language model: ``float32``, or ``bfloat16`` in half the memory
    language_dtype: str = "float32"

    remembers = True

    def __post_init__(self) -> None:
        super().__post_init__()
        language_dtype(self.language_dtype)
        if self.weights is None and self.learning_rate != type(self).learning_rate:
            raise ClevrSkillsError("learning_rate is not used without weights: set scratch_rate")


@dataclass(frozen=True)
class Instructions:
    """Tokens read with each image: an image token, the instruction and an end-of-chunk token."""

    tokens: Tensor  # embeddings, (B, L, width)
    mask: Tensor  # which tokens exist, (B, L) bool


@dataclass(frozen=True)
class FlamingoState:
    """State of an episode in progress."""

    instruction: Instructions  # of one episode, without B
    prompt: Tensor  # outputs for the images of the prompt, (M, width)
    answers: Tensor  # outputs of the latest control steps, (at most T - 1, width)


class PolicyHead(nn.Module):
    """Policy head on outputs of the language model: an LSTM, then MLPs for pose and gripper.

    Args:
        inputs: Width of an output of the language model.
        config: The configuration.
    """

    def __init__(self, inputs: int, config: RoboFlamingoConfig) -> None:
        super().__init__()
        width, dropout = config.lstm_width, config.lstm_dropout
        self.lstm = nn.LSTM(inputs, width, config.lstm_layers, dropout=dropout, batch_first=True)
        widths = (width, *config.head_widths)
        self.pose = mlp(*widths, 6 * config.horizon, activation=nn.ReLU)
        self.gripper = mlp(*widths, config.horizon, activation=nn.ReLU)

    def forward(self, stories: Sequence[Tensor], count: int) -> tuple[Tensor, Tensor]:
        """Return the actions at the last steps of sequences.

        Args:
            stories: Outputs of the language model so far in each of B episodes, (length, inputs).
            count: Number of steps, C.

        Returns:
            Poses (B, C, H, 6) in [-1, 1] and gripper logits (B, C, H, 1), positive: closed.
        """
        states, _ = self.lstm(pad_sequence(list(stories), batch_first=True))
        ends = [len(story) for story in stories]
        last = torch.stack([t[end - count : end] for t, end in zip(states, ends, strict=True)])
        poses: Tensor = self.pose(last).tanh()
        return poses.unflatten(-1, (-1, 6)), self.gripper(last)[..., None]


class RoboFlamingo(LearnedPolicy[RoboFlamingoConfig]):
    """Frozen vision-language model with a recurrent policy head."""

    config_type = RoboFlamingoConfig
    configurations: ClassVar = {
        "default": RoboFlamingoConfig(language_dtype="bfloat16"),
        "tiny": RoboFlamingoConfig(
            image_size=32,
            steps=4,
            starts_every=4,
            batch_size=4,
            warm_up_steps=10,
            language_model=TINY_LANGUAGE_MODEL,
            image_encoder=TINY_IMAGE_ENCODER,
            cross_heads=2,
            gate=1.0,
            scratch_rate=3e-3,
            weight_decay=0.01,
            shifts_px=(),
            latents=4,
            resampler_depth=1,
            lstm_width=128,
            lstm_layers=1,
            lstm_dropout=0.0,
            head_widths=(128,),
        ),
    }

    def __init__(self, config: RoboFlamingoConfig, spec: PolicySpec) -> None:
        super().__init__(config, spec)
        self.tokenizer = make_tokenizer(config.language_model, (TINY_LANGUAGE_MODEL,))
        self.images = ClipEncoder(config.image_encoder)
        width = self.images.width
        self.resampler = PerceiverResampler(
            width, config.latents, config.resampler_depth, config.cross_heads
        )
        dtype = language_dtype(config.language_dtype)
        model = make_language_model(config.language_model, dtype)
        self.language = VisionConditionedLM(
            model, width, config.cross_every, config.cross_heads, config.gate
        )
        self.image_token = nn.Parameter(torch.randn(self.language.width) * 0.02)
        self.end_of_chunk = nn.Parameter(torch.randn(self.language.width) * 0.02)
        self.state = nn.Linear(self.state_size, self.language.width) if self.state_size else None
        self.head = PolicyHead(self.language.width, config)

    def start(self) -> None:
        if self.config.weights is not None:
            load_published(self, weights_file(self.config.weights))
        log.info(
            "robo_flamingo starts from %s",
            self.config.weights or "random resampler and cross-attention (no weights given)",
        )

    @property
    def learning_rate(self) -> float:
        return self.config.scratch_rate if self.config.weights is None else super().learning_rate

    def pretrained(self) -> set[str]:
        """Return the names of frozen published weights, except word embeddings of ``weights``."""
        parts = []
        if self.config.language_model != TINY_LANGUAGE_MODEL:
            parts.append("language.model")
        if self.config.image_encoder != TINY_IMAGE_ENCODER:
            parts.append("images.model")
        names = {f"{p}.{name}" for p in parts for name in self.get_submodule(p).state_dict()}
        return names if self.config.weights is None else names - {WORDS}

    def loss(self, batch: Batch) -> dict[str, Tensor]:
        seen = batch.observations
        if self.training and self.config.shifts_px:
            seen = replace(seen, images=self._shifted(seen.images))
        pose, gripper = self._decide(seen, batch.prompts)
        done = self.normalize_action.inverse(batch.actions)
        closed = (done[..., 6:] > 0).to(gripper.dtype)
        errors = functional.binary_cross_entropy_with_logits(gripper, closed, reduction="none")
        parts = {
            "pose": masked_mean(
                functional.huber_loss(pose, done[..., :6], reduction="none"), batch.action_mask
            ),
            "gripper": masked_mean(errors, batch.action_mask),
        }
        return {"loss": parts["pose"] + self.config.gripper_weight * parts["gripper"], **parts}

    def _shifted(self, images: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return randomly shifted images, with one shift for each window and camera."""
        most_px = chain(self.config.shifts_px, repeat(0))
        return {
            camera: shift(images[camera], round(most * self.config.image_size / 224))
            for camera, most in zip(images, most_px, strict=False)
        }

    def begin(self, prompts: Prompts, seeds: Sequence[int]) -> list[FlamingoState]:
        read = self._read(prompts)
        answered = self._prompt_answers(read, prompts)
        nothing = read.tokens.new_zeros(0, self.language.width)
        return [
            FlamingoState(Instructions(tokens[exists], exists[exists]), answers, nothing)
            for tokens, exists, answers in zip(read.tokens, read.mask, answered, strict=True)
        ]

    def step(
        self, observations: Observations, memories: list[FlamingoState]
    ) -> tuple[Tensor, list[FlamingoState]]:
        read = Instructions(
            pad_sequence([m.instruction.tokens for m in memories], batch_first=True),
            pad_sequence([m.instruction.mask for m in memories], batch_first=True),
        )
        answers = self._step_answers(read, observations)
        known = [torch.cat([m.answers, new]) for m, new in zip(memories, answers, strict=True)]
        stories = [torch.cat([m.prompt, k]) for m, k in zip(memories, known, strict=True)]
        pose, gripper = self.head(stories, 1)
        actions = torch.cat([pose, gripper.sign()], -1)[:, -1]
        kept = self.config.steps - 1
        after = [
            FlamingoState(m.instruction, m.prompt, k[len(k) - min(len(k), kept) :])
            for m, k in zip(memories, known, strict=True)
        ]
        return self.normalize_action(actions), after

    def _decide(self, observations: Observations, prompts: Prompts) -> tuple[Tensor, Tensor]:
        """Return poses (B, T, H, 6) in [-1, 1] and gripper logits (B, T, H, 1)."""
        read = self._read(prompts)
        prompt = self._prompt_answers(read, prompts)
        answers = self._step_answers(read, observations)
        stories = [torch.cat(parts) for parts in zip(prompt, answers, strict=True)]
        found: tuple[Tensor, Tensor] = self.head(stories, observations.mask.shape[1])
        return found

    def _read(self, prompts: Prompts) -> Instructions:
        """Return the tokens read with each image, with the padding token as end-of-text token."""
        words = functional.pad(prompts.tokens, (1, 2), value=self.tokenizer.pad)
        image = functional.pad(prompts.image_index >= 0, (1, 2))
        image[:, 0] = True
        last = prompts.mask.sum(1, keepdim=True) + 2
        places = torch.arange(words.shape[1], device=words.device)
        tokens = self.language.embed(words.masked_fill(image, self.tokenizer.pad))
        tokens = torch.where(image[..., None], self.image_token, tokens)
        tokens = torch.where((places == last - 1)[..., None], self.end_of_chunk, tokens)
        return Instructions(tokens, places <= last)

    def _prompt_answers(self, read: Instructions, prompts: Prompts) -> list[Tensor]:
        """Return the outputs for the images of each prompt, (M, width) each."""
        rows, columns = (prompts.image_index >= 0).nonzero(as_tuple=True)
        features = self.resampler(self.images(prompts.images))
        answers = self._answer(read, rows, features[prompts.image_index[rows, columns]])
        counts = rows.bincount(minlength=len(prompts.tokens)).tolist()
        return list(answers.split(counts))

    def _step_answers(self, read: Instructions, observations: Observations) -> Tensor:
        """Return the outputs at each control step, (B, T, width), zeros where there is none."""
        places = observations.mask.nonzero(as_tuple=True)
        features = [
            self.resampler(self.images(observations.images[camera][places]))
            for camera in self.config.cameras
        ]
        answers = self._answer(read, places[0], torch.cat(features, 1))
        if self.state is not None:
            answers = answers + self.state(observations.state[places])
        zeros = answers.new_zeros(*observations.mask.shape, answers.shape[-1])
        return zeros.index_put(places, answers)

    def _answer(self, read: Instructions, rows: Tensor, features: Tensor) -> Tensor:
        """Return max-pooled outputs (N, width) for rows (N,) and image features (N, K, width)."""
        if not len(rows):
            return read.tokens.new_zeros(0, self.language.width)

        def look(block: GatedCrossAttention, tokens: Tensor) -> Tensor:
            return block(tokens, features)

        answers = self.language(look, inputs_embeds=read.tokens[rows], use_cache=False)
        missing = ~read.mask[rows][..., None]
        return answers.masked_fill(missing, -torch.inf).amax(1)
