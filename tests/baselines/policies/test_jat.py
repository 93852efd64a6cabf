"""JAT: a causal transformer over prompt, images and actions."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from clevrskills_policies.jat import JAT
from learned_policies import (
    observation,
    policy_and_windows,
    prompt,
    rollout,
    save_tokenizer,
)
from torch import Tensor
from torch.nn import functional

from clevrskills.baselines import load
from clevrskills.baselines.batch import Batch, Observations, scale_images
from clevrskills.baselines.prompts import encode, stack
from clevrskills.baselines.registry import configuration
from clevrskills.baselines.training.train import TrainArgs, train
from clevrskills.core.checkpoint import read_tensors, save_tensors
from clevrskills.errors import ClevrSkillsError

CAMERA = "base_camera"


def new(demos: Path, **changes: Any) -> JAT:
    policy, _ = policy_and_windows("jat", demos, **changes)
    assert isinstance(policy, JAT)
    return policy.eval()


def seen(policy: JAT, seed: int, steps: range) -> Tensor:
    """What `rollout` showed at some steps, (T, 3, S, S)."""
    frames = [observation(policy, seed, step)["images"][CAMERA] for step in steps]
    return scale_images(torch.tensor(np.stack(frames)).movedim(-1, 1), policy.config.image_size)


def window(policy: JAT, done: dict[int, list[np.ndarray]], steps: range) -> Batch:
    """Observations and actions of episodes, by seed, at some steps."""
    prompts = [encode(prompt(s, words=s), policy.tokenizer, policy.config.image_size) for s in done]
    images = torch.stack([seen(policy, seed, steps) for seed in done])
    mask = torch.ones(images.shape[:2], dtype=torch.bool)
    actions = torch.tensor(np.stack([np.stack(all_)[list(steps)] for all_ in done.values()]))
    return Batch(
        Observations({CAMERA: images}, torch.zeros(*mask.shape, 0), mask),
        stack(prompts, policy.tokenizer.pad),
        actions[:, :, None],
        mask[:, :, None],
    )


@torch.no_grad()
def said(policy: JAT, batch: Batch) -> Tensor:
    """What it says to whole windows, as actions (B, T, 7)."""
    prompts = replace(batch.prompts, images=batch.prompts.images / 255)
    actions = policy._repeated(policy.normalize_action(batch.actions[:, :, 0]))
    given = policy.predict(policy._normalized(batch.observations), prompts, actions)
    return policy.normalize_action.inverse(given[..., :7]).clamp(-1, 1)


def test_streaming_is_reading_the_whole_window(demos: Path) -> None:
    policy = new(demos, steps=6, starts_every=4)
    done = rollout(policy, {0: 1, 1: 7}, 16)
    by_seed = {1: done[0], 7: done[1]}  # prompts of different length
    for first, steps in ((0, range(0, 6)), (4, range(6, 10)), (8, range(10, 14))):
        whole = said(policy, window(policy, by_seed, range(first, first + 6)))
        for row, actions in enumerate(by_seed.values()):
            streamed = np.stack(actions)[list(steps)]
            part = whole[row, steps.start - first : steps.stop - first].numpy()
            np.testing.assert_allclose(part, streamed, atol=1e-4)
    assert np.ptp(np.stack(by_seed[1]), 0).max() > 0.01


def test_memory_is_bounded(demos: Path) -> None:
    policy = new(demos, steps=4, starts_every=2)
    rollout(policy, {0: 1}, 11)
    memory = policy._memories[0]
    assert len(memory.steps) <= 2 * 4
    assert memory.cache.get_seq_length() <= len(memory.prompt) + 2 * 4


def test_windows_side_by_side(demos: Path) -> None:
    """A window that is full is left for an empty one if they do not overlap."""
    policy = new(demos, steps=3, starts_every=3)
    done = {2: rollout(policy, {0: 2}, 6)[0]}
    whole = said(policy, window(policy, done, range(3, 6)))
    np.testing.assert_allclose(whole[0].numpy(), np.stack(done[2])[3:], atol=1e-4)


def test_attention_is_causal(demos: Path) -> None:
    policy = new(demos)
    done = {1: rollout(policy, {0: 1}, 8)[0]}
    batch = window(policy, done, range(8))
    before = said(policy, batch)
    actions = batch.actions.clone()
    actions[:, 4] = -actions[:, 4] + 0.3
    other = said(policy, replace(batch, actions=actions))
    torch.testing.assert_close(other[:, :5], before[:, :5])  # nor the action that it is to say
    assert (other[:, 5] - before[:, 5]).abs().max() > 1e-4
    images = batch.observations.images[CAMERA].clone()
    images[:, 4:] = 255 - images[:, 4:]
    observations = replace(batch.observations, images={CAMERA: images})
    other = said(policy, replace(batch, observations=observations))
    torch.testing.assert_close(other[:, :4], before[:, :4])
    assert (other[:, 4] - before[:, 4]).abs().max() > 1e-4


def test_every_other_layer_sees_the_last_tokens_only(demos: Path) -> None:
    near, far = (new(demos, reach=reach) for reach in (1, 256))
    near.load_state_dict(far.state_dict())
    done = {1: rollout(far, {0: 1}, 8)[0]}
    batch = window(far, done, range(8))
    assert (said(near, batch) - said(far, batch)).abs().max() > 1e-4


def test_padding_does_not_count(demos: Path) -> None:
    policy, windows = policy_and_windows("jat", demos)
    policy.eval()
    batch = windows[range(len(windows))]
    assert not batch.observations.mask.all()
    wild = torch.where(batch.action_mask[..., None], batch.actions, 50.0)
    pad = torch.full((len(wild), 5), policy.tokenizer.pad)
    longer = replace(
        batch.prompts,
        tokens=torch.cat([batch.prompts.tokens, pad], 1),
        mask=functional.pad(batch.prompts.mask, (0, 5)),
        image_index=functional.pad(batch.prompts.image_index, (0, 5), value=-1),
    )
    with torch.no_grad():
        loss = policy(batch)["loss"]
        assert policy(replace(batch, prompts=longer))["loss"] == pytest.approx(float(loss), 1e-4)
        # after the end, actions are neither learned nor seen where others are
        assert policy(replace(batch, actions=wild))["loss"] == pytest.approx(float(loss), 1e-5)


def test_prompts_that_are_too_long_or_have_no_images(demos: Path) -> None:
    policy = new(demos, prompt_tokens=10)
    policy.reset({0: prompt(0, words=500), 1: replace(prompt(0), text="Touch it", images={})})
    actions = policy.act({slot: observation(policy, 0) for slot in (0, 1)})
    assert np.isfinite([actions[0], actions[1]]).all()
    assert len(policy._memories[0].prompt) == 10


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"cameras": ["base_camera", "hand_camera"]}, "JAT uses one camera, not 2"),
        ({"proprioception": True}, "takes no proprioception"),
        ({"horizon": 2}, "one action at a time"),
        ({"starts_every": None}, "one action at a time"),
        ({"layers": 3}, "layers must be an even number, not 3"),
    ],
)
def test_invalid_configurations(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ClevrSkillsError, match=message):
        configuration("jat", "tiny", changes)


def test_the_paper(demos: Path) -> None:
    config = configuration("jat", "default", {})
    assert (config.learning_rate, config.batch_size, config.image_size) == (1e-4, 64, 84)
    assert config.cameras == (CAMERA,)


# --- published weights


@pytest.fixture(scope="module")
def published(demos: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as JAT is published, of a tiny one."""
    folder: Path = tmp_path_factory.mktemp("jat")
    words = ["Put", "near", "very", "[UNK]", "<|endoftext|>"]
    save_tokenizer(folder, words, "<|endoftext|>", "[UNK]")
    torch.manual_seed(5)
    weights = {
        "transformer.wpe.weight": torch.randn(200, 64),
        "single_discrete_encoder.weight": torch.randn(5, 64),
        "single_discrete_decoder.weight": torch.randn(5, 64),
        "continuous_encoder.weight": torch.randn(64, 14),
        "continuous_encoder.bias": torch.randn(64),
        "continuous_decoder.weight": torch.randn(14, 64),
        "continuous_decoder.bias": torch.randn(14),
        "image_encoder.module.fc.weight": torch.randn(64, 32 * 16),
        "image_encoder.module.fc.bias": torch.randn(64),
    }
    for k, (before, after) in enumerate(((4, 8), (8, 16), (16, 32)), 1):
        path = "image_encoder.module"
        weights[f"{path}.conv{k}.weight"] = torch.randn(after, before, 3, 3)
        weights[f"{path}.conv{k}.bias"] = torch.randn(after)
        weights[f"{path}.att{k}.fc.0.weight"] = torch.randn(after // 8, after)
        weights[f"{path}.att{k}.fc.2.weight"] = torch.randn(after, after // 8)
    for name, tensor in new(demos).transformer.state_dict().items():
        if not name.startswith(("wpe", "wte")):
            weights[f"transformer.{name}"] = torch.randn_like(tensor)
    save_tensors(folder / "model.safetensors", weights)
    return folder


def test_published_weights(demos: Path, published: Path) -> None:
    policy = new(demos, weights=str(published), vocabulary=5)
    weights = read_tensors(published / "model.safetensors")
    state = policy.state_dict()
    same = ("continuous_encoder.bias", "transformer.h.1.attn.attention.q_proj.weight")
    for name in same:
        torch.testing.assert_close(state[name], weights[name])
    torch.testing.assert_close(
        state["transformer.wte.weight"], weights["single_discrete_encoder.weight"]
    )
    rows = policy.config.positions
    torch.testing.assert_close(
        state["transformer.wpe.weight"], weights["transformer.wpe.weight"][:rows]
    )
    assert policy.tokenizer.encode("Put very ") == [0, 2] and policy.tokenizer.image == 4
    policy.reset({0: prompt()})
    assert np.isfinite(policy.act({0: observation(policy, 0)})[0]).all()


def test_images_are_preprocessed_as_published(demos: Path, published: Path) -> None:
    """As the published model sees them, operation by operation."""
    policy = new(demos, weights=str(published), vocabulary=5)
    weights = read_tensors(published / "model.safetensors")
    images = torch.rand(2, 3, 32, 32)
    features = torch.cat([(images - 0.5) / 0.5, torch.zeros(2, 1, 32, 32)], 1)
    for k in (1, 2, 3):
        name = f"image_encoder.module.conv{k}"
        features = functional.conv2d(
            features, weights[f"{name}.weight"], weights[f"{name}.bias"], stride=2, padding=1
        )
        features = functional.leaky_relu(functional.instance_norm(features), 0.01)
        first, second = (weights[f"image_encoder.module.att{k}.fc.{n}.weight"] for n in (0, 2))
        pooled = functional.adaptive_avg_pool2d(features, 1)[:, :, 0, 0]
        scale = torch.sigmoid(torch.relu(pooled @ first.T) @ second.T)
        features = features * scale[:, :, None, None]
    path = "image_encoder.module.fc"
    expected = features.reshape(2, -1) @ weights[f"{path}.weight"].T + weights[f"{path}.bias"]
    with torch.no_grad():
        torch.testing.assert_close(policy.image_encoder(images), expected, rtol=1e-4, atol=1e-3)


def test_a_checkpoint_does_not_need_them(demos: Path, published: Path, tmp_path: Path) -> None:
    """Nor does a training that is killed and goes on, or one that goes on from a checkpoint."""
    shutil.copytree(published, tmp_path / "jat")
    args = TrainArgs(
        policy="jat",
        configuration="tiny",
        set=("batch_size=2", f"weights={tmp_path / 'jat'}", "vocabulary=5"),
        data=(demos,),
        out=tmp_path / "run",
        steps=2,
        save_every=1,
        workers=0,
        cpu=True,
    )
    assert train(args) == 0
    trained = load(args.out, "cpu")
    shutil.rmtree(tmp_path / "jat")
    again = load(args.out, "cpu")
    assert again.tokenizer.encode("very near") == [2, 1] and again.tokenizer.image == 4
    np.testing.assert_array_equal(rollout(trained, {0: 1}, 2)[0], rollout(again, {0: 1}, 2)[0])

    shutil.rmtree(args.out / "checkpoints/00000002")
    assert train(args) == 0
    resumed = load(args.out, "cpu")
    np.testing.assert_array_equal(rollout(trained, {0: 1}, 2)[0], rollout(resumed, {0: 1}, 2)[0])
    tuned = replace(args, policy=None, configuration=None, set=(), from_=args.out)
    assert train(replace(tuned, out=tmp_path / "tuned", steps=1)) == 0
    assert load(tmp_path / "tuned", "cpu").tokenizer.encode("very near") == [2, 1]


def test_weights_that_do_not_fit(demos: Path, published: Path, tmp_path: Path) -> None:
    with pytest.raises(ClevrSkillsError, match=r"continuous_encoder.weight is \(64, 14\), not"):
        new(demos, weights=str(published), vocabulary=5, vector=21)
    with pytest.raises(ClevrSkillsError, match=r"wpe.weight is \(200, 64\), not \(216, 64\)"):
        new(demos, weights=str(published), vocabulary=5, steps=60)
    with pytest.raises(ClevrSkillsError, match=r"wte.weight is \(5, 64\), not \(6, 64\)"):
        new(demos, weights=str(published), vocabulary=6)
    with pytest.raises(ClevrSkillsError, match="the tokenizer of .* cannot be loaded: "):
        new(demos, weights=str(tmp_path))
    save_tokenizer(tmp_path, ["Put", "</s>"], "</s>", "</s>")
    with pytest.raises(ClevrSkillsError, match=r"has no token <\|endoftext\|>"):
        new(demos, weights=str(tmp_path))
