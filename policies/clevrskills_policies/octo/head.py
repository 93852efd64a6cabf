"""Diffusion head of Octo, which denoises actions."""

from collections.abc import Sequence
from math import pi

import torch
from diffusers import DDPMScheduler
from diffusers.utils.torch_utils import randn_tensor
from torch import Generator, Tensor, nn

from clevrskills.baselines.batch import masked_mean
from clevrskills_policies.octo.config import OctoConfig

_EPSILON = 1e-6  # of normalizations


class DiffusionHead(nn.Module):
    """Noise prediction network and diffusion with it (Ho et al. 2020, arXiv 2006.11239), with the
    cosine schedule of Nichol and Dhariwal (2021, arXiv 2102.09672).
    """

    def __init__(self, config: OctoConfig) -> None:
        super().__init__()
        self.config = config
        size, time, width = 7 * config.horizon, config.time_size, config.head_width
        self.frequencies = nn.Parameter(0.2 * torch.randn(time // 2))
        self.time = nn.Sequential(nn.Linear(time, 2 * time), nn.SiLU(), nn.Linear(2 * time, time))
        self.first = nn.Linear(time + config.width + size, width)
        self.blocks = nn.ModuleList(
            nn.Sequential(
                nn.LayerNorm(width, eps=_EPSILON),
                nn.Linear(width, 4 * width),
                nn.SiLU(),
                nn.Linear(4 * width, width),
            )
            for _ in range(config.head_blocks)
        )
        self.last = nn.Sequential(nn.SiLU(), nn.Linear(width, size))
        self.scheduler = DDPMScheduler(
            config.diffusion_steps,
            beta_schedule="squaredcos_cap_v2",
            variance_type="fixed_large",
            clip_sample=False,  # noisy actions are clipped instead, see `sample`
        )

    def forward(self, readout: Tensor, noisy: Tensor, time: Tensor) -> Tensor:
        """Return the predicted noise in noisy actions.

        Args:
            readout: Readouts of the transformer (..., width).
            noisy: Noisy normalized actions (..., 7 H).
            time: Diffusion steps (...).

        Returns:
            The noise (..., 7 H).
        """
        angle = 2 * pi * time[..., None] * self.frequencies
        step_features = self.time(torch.cat([angle.cos(), angle.sin()], -1))
        features = self.first(torch.cat([step_features, readout, noisy], -1))
        for block in self.blocks:
            features = features + block(features)
        noise: Tensor = self.last(features)
        return noise

    def loss(self, readout: Tensor, actions: Tensor, mask: Tensor) -> Tensor:
        """Return the squared error of the predicted noise, summed over the entries of an action.

        Args:
            readout: Readouts of the transformer (N, width).
            actions: Normalized actions (N, H, 7).
            mask: Mask of the actions that are targets, (N, H).
        """
        draws, limit = self.config.diffusion_samples, self.config.action_limit
        clean = actions.flatten(1).clamp(-limit, limit).repeat(draws, 1)
        noise = torch.randn_like(clean)
        time = torch.randint(self.config.diffusion_steps, clean.shape[:1], device=clean.device)
        noisy = self.scheduler.add_noise(clean, noise, time)
        error = (self(readout.repeat(draws, 1), noisy, time) - noise) ** 2
        return 7 * masked_mean(error.unflatten(1, (-1, 7)), mask.repeat(draws, 1))

    def sample(self, readout: Tensor, generators: Sequence[Generator]) -> Tensor:
        """Sample normalized actions (N, H, 7) for readouts (N, width), each with its own random
        generator.
        """
        count, limit = len(readout), self.config.action_limit
        drawn = list(generators)
        actions = randn_tensor((count, 7 * self.config.horizon), drawn, readout.device)
        for step in reversed(range(self.config.diffusion_steps)):
            time = torch.full((count,), step, device=readout.device)
            noise = self(readout, actions, time)
            before = self.scheduler.step(noise, step, actions, generator=drawn).prev_sample
            actions = before.clamp(-limit, limit)
        return actions.unflatten(1, (-1, 7))
