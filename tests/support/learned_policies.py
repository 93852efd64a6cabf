"""Helpers of the tests of all policies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from clevrskills.baselines.batch import Batch
from clevrskills.baselines.data.sources import open_source
from clevrskills.baselines.data.windows import DemonstrationFilter, Windows, make_spec
from clevrskills.baselines.policy import LearnedPolicy
from clevrskills.baselines.registry import build, configuration
from clevrskills.baselines.training.trainer import LOG_FILE, make_optimizer
from clevrskills.core.policy import PromptInput
from clevrskills.jobs.training_log import read_reports


def policy_and_windows(
    name: str,
    demos: Path,
    variant: str = "tiny",
    selection: DemonstrationFilter | None = None,
    **changes: Any,
) -> tuple[LearnedPolicy, Windows]:
    """A new policy, and windows of demonstrations for it."""
    config = configuration(name, variant, changes)
    sources = [open_source(demos, config.cameras)]
    selection = selection or DemonstrationFilter()
    policy = build(name, config, make_spec(sources, config, selection), seed=0)
    policy.start()
    return policy, Windows(sources, config, selection, policy.tokenizer)


def read_log(root: Path) -> dict[int, dict[str, float]]:
    """The metrics of a training run by step; for a repeated step, the latest."""
    found: dict[int, dict[str, float]] = {}
    for report in read_reports(root / LOG_FILE):
        found.setdefault(report.pop("step"), {}).update(report)
    return dict(sorted(found.items()))


def save_tokenizer(folder: Path, words: Sequence[str], end: str, unknown: str) -> None:
    """A tokenizer of few words in a folder, as transformers writes it."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    numbers = {word: number for number, word in enumerate(words)}
    model = Tokenizer(models.WordLevel(numbers, unk_token=unknown))
    model.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=model, eos_token=end, unk_token=unknown)
    tokenizer.save_pretrained(folder)


def equal(one: Batch, other: Batch) -> None:
    """Both batches have the same tensors."""
    seen, expected = one.observations, other.observations
    pairs = [(seen.images[camera], images) for camera, images in expected.images.items()]
    for mine, theirs in ((seen, expected), (one.prompts, other.prompts), (one, other)):
        values = {n: v for n, v in vars(theirs).items() if isinstance(v, torch.Tensor)}
        pairs += [(getattr(mine, name), value) for name, value in values.items()]
    for a, b in pairs:
        assert a.dtype == b.dtype and torch.equal(a.isnan(), b.isnan())
        assert torch.equal(a.nan_to_num(), b.nan_to_num())


def spread(windows: Windows, count: int) -> list[int]:
    """Some windows from all over the demonstrations."""
    return np.linspace(0, len(windows) - 1, count).astype(int).tolist()


def overfit(policy: LearnedPolicy, batch: Batch, steps: int) -> tuple[float, float]:
    """Losses on a batch, before and after it was trained on, as in acting: without dropout."""
    torch.manual_seed(0)
    optimizer = make_optimizer(policy)

    def measured() -> float:
        policy.eval()
        with torch.no_grad():
            return float(policy(batch)["loss"])

    before = measured()
    for step in range(steps):
        for group in optimizer.param_groups:
            group["lr"] = policy.learning_rate * min((step + 1) / 10, 1 - step / steps)
        policy.train()
        loss = policy(batch)["loss"]
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(policy.parameters(), policy.config.max_gradient_norm)
        optimizer.step()
    return before, measured()


def observation(policy: LearnedPolicy, seed: int, step: int = 0) -> dict[str, Any]:
    """Something to look at, as the evaluation shows it."""
    rng = np.random.default_rng((seed, step))
    shown = policy.observation
    lead = () if shown.history == 1 else (shown.history,)
    size = shown.size_px or 256
    state = {
        name: rng.normal(size=(*lead, count)).astype(np.float32)
        for name, count in policy.spec.state_parts.items()
    }
    images = {
        camera: rng.integers(0, 256, (*lead, size, size, 3), dtype=np.uint8)
        for camera in shown.cameras
    }
    return {"images": images, "proprioception": state, "prompt": "", "step": step}


def prompt(seed: int = 0, words: int = 3) -> PromptInput:
    """A prompt with two images."""
    rng = np.random.default_rng(seed)
    images = {
        f"{{obj:object_{k}}}": rng.integers(0, 256, (256, 256, 3), dtype=np.uint8) for k in range(2)
    }
    text = "Put {obj:object_0} " + "very " * words + "near {obj:object_1}"
    return PromptInput(text, images, seed)


def rollout(
    policy: LearnedPolicy, seeds: Mapping[int, int], steps: int
) -> dict[int, list[np.ndarray]]:
    """What a policy does in slots, each with observations and a prompt of its own."""
    policy.reset({slot: prompt(seed, words=seed) for slot, seed in seeds.items()})
    done: dict[int, list[np.ndarray]] = {slot: [] for slot in seeds}
    for step in range(steps):
        actions = policy.act({s: observation(policy, seed, step) for s, seed in seeds.items()})
        for slot, action in actions.items():
            done[slot].append(action)
    return done
