"""Octo (Octo Model Team et al. 2024, arXiv 2405.12213) with multimodal prompts.

A transformer reads the task, which is the words and images of the prompt. For each of the last two
steps it then reads the images of the base and hand cameras, the task again and a readout token.
Tokens attend to those of their own step and of earlier ones; only readouts attend to readouts.
Conditioned on the readout, a diffusion head denoises the next four actions in 20 steps. The loss
is the error of the predicted noise. T5, which encodes the words, is frozen; all other weights are
fine-tuned from the published ones. The hand camera and images in prompts are additions of the
ClevrSkills paper (section 5.1). It gives no hyperparameters, so those of Octo's own fine-tuning are
used.

Details that the paper omits follow the published models, version 1.5, so that their weights fit. So
camera images have three more channels for a goal image, which is black, as in those models for
goals in words. Unlike there, images of the prompt are part of the task, with a randomly initialized
stem of their own. Prompts have at most ``prompt_tokens`` tokens, not 16. Texts have no end token,
and padding is masked. Augmentation shifts images and changes brightness, contrast and saturation;
it has no random resized crops and no changes of hue. An option of the evaluation sets how many of
the four actions are executed before the next prediction, by default all.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from torch import Generator, Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import pad_sequence
from transformers import T5Config, T5EncoderModel

from clevrskills.baselines.batch import Batch, Observations, Prompts
from clevrskills.baselines.policies.hub import LanguageTokenizer, language_dtype, load_model
from clevrskills.baselines.policy import LearnedPolicy
from clevrskills.baselines.prompts import ByteTokenizer
from clevrskills.baselines.spec import PolicySpec
from clevrskills_policies.augmentation import change_colors, shift
from clevrskills_policies.octo.config import OctoConfig
from clevrskills_policies.octo.head import DiffusionHead
from clevrskills_policies.octo.transformer import Stem, Transformer, visible
from clevrskills_policies.octo.weights import load_published

_PATCH = 16  # width and height of the patch of a token, in pixels
_BASE = OctoConfig(
    shift_share=0.05,
    color_share=0.1,
    weights="rail-berkeley/octo-base-1.5",
    language_model="google-t5/t5-base",
    language_dtype="bfloat16",
)


@dataclass(frozen=True)
class OctoState:
    """State of an episode in progress."""

    task: Tensor  # tokens of the task, (K, width)
    generator: Generator  # random generator of the noise


class ImageTokens(nn.Module):
    """Image tokenizer, without position embeddings.

    Args:
        config: The configuration.
        size_px: Width and height to which images are scaled, in pixels.
        channels: Number of channels; those after the third are black.
    """

    def __init__(self, config: OctoConfig, size_px: int, channels: int) -> None:
        super().__init__()
        self.size_px, self.channels = size_px, channels
        self.count = (-(-size_px // _PATCH)) ** 2
        self.stem = Stem(channels, config.channels, config.groups, config.features)
        self.projection = nn.Linear(config.features, config.width)

    def forward(self, images: Tensor) -> Tensor:
        """Map images (N, 3, S, S) in [0, 1] -> tokens (N, count, width)."""
        if len(images) and images.shape[-1] != self.size_px:
            images = functional.interpolate(
                images, size=self.size_px, mode="bilinear", antialias=True
            )
        images = functional.pad(images, (0, 0, 0, 0, 0, self.channels - 3))
        tokens: Tensor = self.projection(self.stem(images))
        return tokens


class Octo(LearnedPolicy[OctoConfig]):
    """Transformer over the last steps, with a diffusion head for the next actions."""

    config_type = OctoConfig
    configurations: ClassVar = {
        "default": _BASE,
        "small": replace(_BASE, width=384, heads=6, weights="rail-berkeley/octo-small-1.5"),
        "tiny": OctoConfig(
            image_size=32,
            small_size=16,
            learning_rate=5e-3,
            batch_size=4,
            warm_up_steps=10,
            width=32,
            layers=2,
            heads=4,
            channels=(8, 16, 16, 32),
            groups=4,
            features=32,
            prompt_tokens=96,
            diffusion_steps=5,
            diffusion_samples=16,
            head_width=128,
            head_blocks=1,
            text_layers=1,
        ),
    }

    def __init__(self, config: OctoConfig, spec: PolicySpec) -> None:
        super().__init__(config, spec)
        self.normalize_action.mean[-1] = 0.0  # as in the published models
        self.normalize_action.std[-1] = 1.0
        self.tokenizer = ByteTokenizer()
        if config.language_model is not None:
            self.tokenizer = LanguageTokenizer(config.language_model, image="<extra_id_0>")
        self.text = _text_encoder(config, self.tokenizer.size)
        self.words = nn.Linear(self.text.config.d_model, config.width)
        self.word_places = _places(config.prompt_tokens, config.width)
        # "picture" is part of the names of weights in checkpoints
        self.pictures = ImageTokens(config, config.small_size, 3)
        self.picture_places = _places(config.prompt_tokens, config.width)
        self.patch_places = _places(self.pictures.count, config.width)
        sizes = (config.image_size, config.small_size)
        cameras = {
            c: ImageTokens(config, s, 6) for c, s in zip(config.cameras, sizes, strict=False)
        }
        self.cameras = nn.ModuleDict(cameras)
        self.camera_places = nn.ParameterDict(
            {c: _places(config.steps, m.count, config.width) for c, m in cameras.items()}
        )
        self.readout_places = _places(config.steps, config.readouts, config.width)
        self.transformer = Transformer(config)
        self.head = DiffusionHead(config)

    def start(self) -> None:
        if self.config.weights is not None:
            load_published(self, self.config.weights)

    def loss(self, batch: Batch) -> dict[str, Tensor]:
        tasks = self._read(batch.prompts)
        seen = batch.observations
        if self.training:
            seen = replace(seen, images={n: self._varied(i) for n, i in seen.images.items()})
        readout = self.read_out(seen, tasks)
        learned = (batch.actions.flatten(0, 1), batch.action_mask.flatten(0, 1))
        return {"loss": self.head.loss(readout.flatten(0, 1), *learned)}

    def _varied(self, images: Tensor) -> Tensor:
        """Return randomly augmented images."""
        images = shift(images, round(self.config.shift_share * images.shape[-1]))
        share = self.config.color_share
        return change_colors(images, share) if share else images

    def begin(self, prompts: Prompts, seeds: Sequence[int]) -> list[OctoState]:
        generators = [Generator().manual_seed(seed) for seed in seeds]
        return [OctoState(*both) for both in zip(self._read(prompts), generators, strict=True)]

    def step(
        self, observations: Observations, memories: list[OctoState]
    ) -> tuple[Tensor, list[OctoState]]:
        readout = self.read_out(observations, [memory.task for memory in memories])[:, -1]
        return self.head.sample(readout, [memory.generator for memory in memories]), memories

    def pretrained(self) -> set[str]:
        """Return the names of the weights of T5, if it is a published one."""
        if self.config.language_model is None:
            return set()
        return {name for name in self.state_dict() if name.startswith("text.")}

    def read_out(self, observations: Observations, tasks: Sequence[Tensor]) -> Tensor:
        """Return the readout at each step, (B, T, width).

        Args:
            observations: Observations of the last steps (B, T, ...).
            tasks: Tokens of each task (K, width).
        """
        batch, steps = observations.mask.shape
        task = pad_sequence(list(tasks), batch_first=True)
        task_mask = pad_sequence([one.new_ones(len(one)) for one in tasks], batch_first=True) > 0
        images = [
            see(observations.images[camera].flatten(0, 1)).unflatten(0, (batch, steps))
            + self.camera_places[camera]
            for camera, see in self.cameras.items()
        ]
        again = task[:, None].expand(-1, steps, -1, -1)
        reads = self.readout_places.expand(batch, -1, -1, -1)
        each = torch.cat([*images, again, reads], 2)  # (B, T, tokens of a step, width)
        size, last = each.shape[2], each.shape[2] - reads.shape[2]
        around = (last - task.shape[1], reads.shape[2])
        mask = functional.pad(task_mask, around, value=True)[:, None] & observations.mask[..., None]
        exists = torch.cat([task_mask, mask.flatten(1)], 1)
        when = torch.arange(steps, device=exists.device).repeat_interleave(size)
        is_read = (torch.arange(size, device=exists.device) >= last).repeat(steps)
        before = (task.shape[1], 0)
        mask = visible(
            exists, functional.pad(when, before, value=-1), functional.pad(is_read, before)
        )
        tokens = self.transformer(torch.cat([task, each.flatten(1, 2)], 1), mask)
        found: Tensor = tokens[:, task.shape[1] :].unflatten(1, (steps, size))[:, :, last:]
        return found.mean(2)

    def _read(self, prompts: Prompts) -> list[Tensor]:
        """Return the tokens of each prompt (K, width): first words, then images."""
        tokens, mask, index = prompts.first(self.config.prompt_tokens)
        read = self.text(input_ids=tokens, attention_mask=mask.long()).last_hidden_state
        words = self.words(read.float()) + self.word_places[: tokens.shape[1]]
        pictures = self.pictures(prompts.images) + self.patch_places
        tasks = []
        for row in range(len(tokens)):
            places = (index[row] >= 0).nonzero()[:, 0]
            of_images = pictures[index[row, places]] + self.picture_places[places, None]
            tasks.append(torch.cat([words[row, mask[row]], of_images.flatten(0, 1)]))
        return tasks


def _places(*shape: int) -> nn.Parameter:
    """Return position embeddings."""
    return nn.Parameter(0.02 * torch.randn(shape))


def _text_encoder(config: OctoConfig, vocabulary: int) -> T5EncoderModel:
    """Return the text encoder: a frozen published T5, or a small one trained from scratch."""
    if config.language_model is None:
        new = T5Config(
            vocab_size=vocabulary,
            d_model=config.width,
            d_kv=config.width // config.heads,
            d_ff=4 * config.width,
            num_layers=config.text_layers,
            num_heads=config.heads,
            dropout_rate=0.0,
        )
        return T5EncoderModel(new)
    published: T5EncoderModel = load_model(
        *(T5EncoderModel, "language model", config.language_model),
        language_dtype(config.language_dtype),
        dropout_rate=0.0,
        use_safetensors=True,
    )
    return published.requires_grad_(False)
