"""Octo: readouts of a transformer, and actions made out of noise."""

from __future__ import annotations

import shutil
from dataclasses import replace
from math import cos, pi, sqrt
from pathlib import Path
from typing import Any

import msgpack
import numpy as np
import pytest
import torch
from clevrskills_policies.octo.config import OctoConfig
from clevrskills_policies.octo.head import DiffusionHead
from clevrskills_policies.octo.policy import Octo
from clevrskills_policies.octo.transformer import visible
from learned_policies import (
    observation,
    overfit,
    policy_and_windows,
    prompt,
    rollout,
    save_tokenizer,
    spread,
)
from torch import Tensor

from clevrskills.baselines import checkpoint, load
from clevrskills.baselines.batch import Observations
from clevrskills.baselines.prompts import encode, stack
from clevrskills.baselines.registry import configuration
from clevrskills.core.checkpoint import read_tensors
from clevrskills.core.policy import PromptInput
from clevrskills.errors import ClevrSkillsError

CAMERAS = ("base_camera", "hand_camera")


def new(demos: Path, **changes: Any) -> Octo:
    policy, _ = policy_and_windows("octo", demos, **changes)
    assert isinstance(policy, Octo)
    return policy.eval()


def shown(count: int, steps: int = 2, seed: int = 0) -> Observations:
    """Images of noise, all steps there."""
    generator = torch.Generator().manual_seed(seed)
    images = {c: torch.rand(count, steps, 3, 32, 32, generator=generator) for c in CAMERAS}
    mask = torch.ones(count, steps, dtype=torch.bool)
    return Observations(images, torch.zeros(count, steps, 0), mask)


@torch.no_grad()
def read_out(policy: Octo, observations: Observations, *prompts: PromptInput) -> Tensor:
    encoded = stack([encode(p, policy.tokenizer, 32) for p in prompts], policy.tokenizer.pad)
    tasks = policy._read(replace(encoded, images=encoded.images / 255))
    return policy.read_out(observations, tasks)


@pytest.mark.slow
def test_it_makes_the_actions_that_it_overfits(demos: Path) -> None:
    policy, windows = policy_and_windows("octo", demos)
    batch = windows[spread(windows, 8)]
    before, after = overfit(policy, batch, 250)
    assert after <= 0.01 * before
    assert isinstance(policy, Octo)
    prompts = replace(batch.prompts, images=batch.prompts.images / 255)
    with torch.no_grad():
        readout = policy.read_out(policy._normalized(batch.observations), policy._read(prompts))
        generators = [torch.Generator().manual_seed(k) for k in range(8)]
        made = policy.head.sample(readout[:, -1], generators)
    learned, actions = batch.action_mask[:, -1], policy.normalize_action(batch.actions[:, -1])
    own, others = ((made - a)[learned][:, :2].abs().mean() for a in (actions, actions.roll(1, 0)))
    assert own < 0.3 * others


def test_readouts_only_read() -> None:
    there = torch.tensor([[True, False, True, True, True, True]])
    when = torch.tensor([-1, -1, 0, 0, 1, 1])
    reads = torch.tensor([False, False, False, True, False, True])
    rows = ["100000", "100000", "101000", "101100", "101010", "101111"]
    assert visible(there, when, reads).int().tolist() == [[[int(c) for c in row] for row in rows]]


def test_steps_do_not_attend_to_later_ones(demos: Path) -> None:
    policy = new(demos)
    one = shown(1)
    other = replace(one, images={c: i.clone() for c, i in one.images.items()})
    other.images["hand_camera"][:, 1] = 0.5
    before, after = (read_out(policy, seen, prompt()) for seen in (one, other))
    torch.testing.assert_close(before[:, 0], after[:, 0])
    assert (before[:, 1] - after[:, 1]).abs().max() > 1e-4
    other.images["base_camera"][:, 0] = 0.5
    assert (read_out(policy, other, prompt())[:, 1] - after[:, 1]).abs().max() > 1e-4


def test_padding_is_masked(demos: Path) -> None:
    policy = new(demos)
    one = shown(2)
    one.mask[0, 0] = False
    other = replace(one, images={c: i.clone() for c, i in one.images.items()})
    for images in other.images.values():
        images[:, 0] = 0.5
    prompts = prompt(1, words=1), prompt(2, words=9)
    before, after = (read_out(policy, seen, *prompts) for seen in (one, other))
    torch.testing.assert_close(before[0, 1], after[0, 1])
    assert (before[1, 1] - after[1, 1]).abs().max() > 1e-4
    first = Observations({c: i[:1] for c, i in one.images.items()}, one.state[:1], one.mask[:1])
    alone = read_out(policy, first, prompts[0])  # without the longer prompt beside it
    torch.testing.assert_close(before[0, 1], alone[0, 1], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("what", ["words", "images", "order"])
def test_it_reads_prompts(demos: Path, what: str) -> None:
    policy = new(demos)
    one = prompt(0)
    if what == "words":
        other = replace(one, text=one.text.replace("near", "over"))
    elif what == "images":
        other = replace(one, images={k: 255 - image for k, image in one.images.items()})
    else:
        pictures = dict(zip(one.images, reversed(one.images.values()), strict=True))
        other = replace(one, images=pictures)
    both = read_out(policy, shown(1), one), read_out(policy, shown(1), other)
    assert (both[0] - both[1]).abs().max() > 1e-5


def test_prompts_that_are_too_long_or_have_no_images(demos: Path) -> None:
    policy = new(demos, prompt_tokens=10)
    prompts = prompt(0, words=500), replace(prompt(0), text="Touch it", images={})
    assert read_out(policy, shown(2), *prompts).isfinite().all()
    assert read_out(policy, shown(1), prompts[1]).isfinite().all()


def test_actions_after_the_end_are_not_learned(demos: Path) -> None:
    policy, windows = policy_and_windows("octo", demos)
    assert isinstance(policy, Octo)
    policy.eval()
    batch = windows[range(len(windows) - 4, len(windows))]
    ends = ~batch.action_mask & batch.observations.mask[:, :, None]
    assert ends.any()
    assert (batch.action_mask[..., -1] & batch.observations.mask).any()

    def measured(shift: float, entries: slice) -> float:
        """The loss if something is added to what the network says of some entries."""
        torch.manual_seed(0)
        with torch.no_grad():
            policy.head.last[1].bias[entries] += shift
            loss = float(policy(replace(batch, action_mask=mask))["loss"])
            policy.head.last[1].bias[entries] -= shift
        return loss

    mask = batch.action_mask.clone()
    mask[..., 2:] = False
    assert measured(9.0, slice(14, 28)) == measured(0.0, slice(14, 28))
    assert measured(9.0, slice(7, 14)) > measured(0.0, slice(7, 14)) + 1


def test_diffusion_is_that_of_octo() -> None:
    """The schedule and the steps as Octo's authors write them."""
    config = OctoConfig(width=8, head_width=16, head_blocks=1)
    torch.manual_seed(0)
    head = DiffusionHead(config)
    bar = [cos((k / 20 + 0.008) / 1.008 * pi / 2) ** 2 for k in range(21)]
    betas = np.minimum(1 - np.array(bar[1:]) / np.array(bar[:-1]), 0.999)
    alphas, products = 1 - betas, np.cumprod(1 - betas)
    np.testing.assert_allclose(head.scheduler.alphas_cumprod, products, rtol=1e-4)
    readout = torch.randn(1, 8)
    made = head.sample(readout, [torch.Generator().manual_seed(3)])
    generator = torch.Generator().manual_seed(3)
    actions = torch.randn(1, 28, generator=generator)
    with torch.no_grad():
        for k in reversed(range(20)):
            noise = head(readout, actions, torch.tensor([k]))
            actions = actions - (1 - alphas[k]) / sqrt(1 - products[k]) * noise
            actions = actions / sqrt(alphas[k])
            if k:
                actions = actions + sqrt(betas[k]) * torch.randn(1, 28, generator=generator)
            actions = actions.clamp(-5, 5)
    torch.testing.assert_close(made.detach(), actions.reshape(1, 4, 7), rtol=1e-3, atol=1e-3)


def test_the_seed_determines_samples(demos: Path) -> None:
    policy = new(demos)
    first = rollout(policy, {0: 1}, 2)[0]
    assert first[0].shape == (4, 7)
    np.testing.assert_array_equal(rollout(policy, {0: 1}, 2)[0], first)
    np.testing.assert_array_equal(rollout(policy, {3: 2, 5: 1}, 2)[5], first)
    policy.reset({0: replace(prompt(1, words=1), seed=99)})
    assert np.abs(policy.act({0: observation(policy, 1)})[0] - first[0]).max() > 1e-3


def test_one_camera(demos: Path) -> None:
    policy, windows = policy_and_windows("octo", demos, cameras=["hand_camera"], steps=1)
    assert policy(windows[[0]])["loss"].isfinite()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"cameras": []}, "one or two cameras, not 0"),
        ({"proprioception": True}, "takes no proprioception"),
        ({"starts_every": 1}, "the latest observations only"),
    ],
)
def test_invalid_configurations(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ClevrSkillsError, match=message):
        configuration("octo", "tiny", changes)


# --- a published T5


@pytest.fixture(scope="module")
def t5(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as T5 is published, of a tiny one."""
    from transformers import T5Config, T5EncoderModel

    folder: Path = tmp_path_factory.mktemp("t5")
    save_tokenizer(
        folder, ["</s>", "Put", "near", "very", "[UNK]", "<extra_id_0>"], "</s>", "[UNK]"
    )
    torch.manual_seed(0)
    config = T5Config(
        vocab_size=8, d_model=16, d_kv=8, d_ff=32, num_layers=1, num_heads=2, dropout_rate=0.9
    )
    T5EncoderModel(config).save_pretrained(folder)
    return folder


def test_a_published_t5_stays_as_it_is(demos: Path, t5: Path, tmp_path: Path) -> None:
    policy, windows = policy_and_windows("octo", demos, language_model=str(t5))
    assert isinstance(policy, Octo)
    assert policy.tokenizer.encode("Put very ") == [1, 3]
    assert (policy.tokenizer.pad, policy.tokenizer.image) == (0, 5)
    before = {name: tensor.clone() for name, tensor in policy.state_dict().items()}
    torch.manual_seed(0)
    policy.train()
    batch = windows[[0, 1]]
    tasks = [policy._read(replace(batch.prompts, images=batch.prompts.images / 255)) for _ in "ab"]
    torch.testing.assert_close(tasks[0][0], tasks[1][0])  # nothing is dropped out
    overfit(policy, batch, 2)
    kept = policy.pretrained()
    assert kept and all(name.startswith("text.") for name in kept)
    for name, tensor in policy.state_dict().items():
        assert torch.equal(tensor, before[name]) == (name in kept), name
    about = checkpoint.CheckpointDescription("octo", policy.config, policy.spec, {})
    checkpoint.write(tmp_path, policy, about)
    assert not kept & read_tensors(tmp_path / "model.safetensors").keys()
    (tmp_path / "published").mkdir()
    (tmp_path / "published/language_model").symlink_to(t5)
    again = load(tmp_path, "cpu", str(tmp_path / "published"))
    np.testing.assert_array_equal(rollout(policy, {0: 1}, 1)[0], rollout(again, {0: 1}, 1)[0])


def test_t5_in_half_the_memory(demos: Path, t5: Path) -> None:
    exact, windows = policy_and_windows("octo", demos, language_model=str(t5))
    policy, _ = policy_and_windows("octo", demos, language_model=str(t5), language_dtype="bfloat16")
    assert isinstance(exact, Octo) and isinstance(policy, Octo)
    kept = policy.pretrained()
    kinds = {tensor.dtype for name, tensor in policy.state_dict().items() if name in kept}
    assert torch.bfloat16 in kinds
    batch = windows[[0]]
    prompts = replace(batch.prompts, images=batch.prompts.images / 255)
    (expected,), (found,) = exact._read(prompts), policy._read(prompts)
    assert found.dtype == torch.float32 and not torch.equal(found, expected)
    torch.testing.assert_close(found, expected, atol=0.02, rtol=0.02)


def test_a_t5_that_is_not_there(demos: Path, t5: Path, tmp_path: Path) -> None:
    with pytest.raises(ClevrSkillsError, match="the tokenizer of .* cannot be loaded: "):
        new(demos, language_model=str(tmp_path))
    save_tokenizer(tmp_path, ["<extra_id_0>", "</s>"], "</s>", "</s>")
    with pytest.raises(ClevrSkillsError, match="the language model .* cannot be loaded: "):
        new(demos, language_model=str(tmp_path))


# --- published weights


def arrays(shapes: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    """Arrays of noise in place of shapes."""
    return {
        name: arrays(shape, rng)
        if isinstance(shape, dict)
        else (0.3 * rng.normal(size=shape)).astype(np.float32)
        for name, shape in shapes.items()
    }


def dense_shapes(*kernel: int) -> dict[str, Any]:
    return {"kernel": kernel, "bias": kernel[-1:]}


def norm_shapes(size: int) -> dict[str, Any]:
    return {"scale": (size,), "bias": (size,)}


def octo_tree() -> dict[str, Any]:
    """A tree of weights as Octo's, of the tiny configuration's sizes."""
    stem: dict[str, Any] = {"embedding": dense_shapes(1, 1, 32, 32)}
    for k, (before, after) in enumerate(((6, 8), (8, 16), (16, 16), (16, 32))):
        stem |= {f"StdConv_{k}": dense_shapes(3, 3, before, after)}
        stem |= {f"GroupNorm_{k}": norm_shapes(after)}
    part = {"kernel": (32, 4, 8), "bias": (4, 8)}
    block = {
        "LayerNorm_0": norm_shapes(32),
        "LayerNorm_1": norm_shapes(32),
        "MultiHeadDotProductAttention_0": {
            "query": part,
            "key": part,
            "value": part,
            "out": {"kernel": (4, 8, 32), "bias": (32,)},
        },
        "MlpBlock_0": {"Dense_0": dense_shapes(32, 128), "Dense_1": dense_shapes(128, 32)},
    }
    shapes = {
        "octo_transformer": {
            "observation_tokenizers_primary": {"SmallStem16_0": stem},
            "observation_tokenizers_wrist": {"SmallStem16_0": stem},
            "obs_primary_projection": dense_shapes(32, 32),
            "obs_wrist_projection": dense_shapes(32, 32),
            "task_language_projection": dense_shapes(32, 32),
            "obs_primary_pos_embedding": (1, 10, 4, 32),
            "obs_wrist_pos_embedding": (1, 10, 1, 32),
            "task_language_pos_embedding": (1, 16, 32),
            "readout_action_pos_embedding": (1, 10, 1, 32),
            "BlockTransformer_0": {
                "Transformer_0": {
                    "encoderblock_0": block,
                    "encoderblock_1": block,
                    "encoder_norm": norm_shapes(32),
                }
            },
        },
        "heads_action": {
            "diffusion_model": {
                "time_preprocess": {"kernel": (16, 1)},
                "cond_encoder": {"Dense_0": dense_shapes(32, 64), "Dense_1": dense_shapes(64, 32)},
                "reverse_network": {
                    "Dense_0": dense_shapes(32 + 32 + 28, 128),
                    "MLPResNetBlock_0": {
                        "LayerNorm_0": norm_shapes(128),
                        "Dense_0": dense_shapes(128, 512),
                        "Dense_1": dense_shapes(512, 128),
                    },
                    "Dense_1": dense_shapes(128, 28),
                },
            }
        },
    }
    return arrays(shapes, np.random.default_rng(0))


def write_tree(tree: dict[str, Any], folder: Path) -> None:
    """As Flax writes it."""

    def array(value: np.ndarray) -> msgpack.ExtType:
        content = (value.shape, value.dtype.name, value.tobytes())
        return msgpack.ExtType(1, msgpack.packb(content, use_bin_type=True))

    path = folder / "300000/default/checkpoint"
    path.parent.mkdir(parents=True)
    path.write_bytes(msgpack.packb(tree, default=array, strict_types=True))


def layer_norm(x: np.ndarray, p: dict[str, Any]) -> np.ndarray:
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt(x.var(-1, keepdims=True) + 1e-6) * p["scale"] + p["bias"]


def dense(x: np.ndarray, p: dict[str, Any]) -> np.ndarray:
    return x @ p["kernel"] + p["bias"]


def gelu(x: np.ndarray) -> np.ndarray:
    return 0.5 * x * (1 + np.tanh(sqrt(2 / pi) * (x + 0.044715 * x**3)))


def swish(x: np.ndarray) -> np.ndarray:
    return x / (1 + np.exp(-x))


def attention(x: np.ndarray, seen: np.ndarray, p: dict[str, Any]) -> np.ndarray:
    query, key, value = (
        np.einsum("nd,dhk->nhk", x, p[name]["kernel"]) + p[name]["bias"]
        for name in ("query", "key", "value")
    )
    scores = np.where(seen, np.einsum("nhk,mhk->hnm", query, key) / sqrt(8), -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    found = np.einsum("hnm,mhk->nhk", weights, value)
    return np.einsum("nhk,hkd->nd", found, p["out"]["kernel"]) + p["out"]["bias"]


def stem_tokens(image: np.ndarray, p: dict[str, Any]) -> np.ndarray:
    """An image (S, S, 3) uint8 and a black goal beside it -> (patches, 32)."""
    x = np.concatenate([image, np.zeros_like(image)], -1) / 127.5 - 1.0
    for k in range(4):
        kernel = p[f"StdConv_{k}"]["kernel"]
        kernel = kernel - kernel.mean((0, 1, 2))
        kernel = kernel / (kernel.std((0, 1, 2)) + 1e-5)
        padded = np.pad(x, ((1, 1), (1, 1), (0, 0)))
        side = len(x) // 2
        x = np.array(
            [
                [
                    np.einsum("ijc,ijcf->f", padded[2 * a : 2 * a + 3, 2 * b : 2 * b + 3], kernel)
                    for b in range(side)
                ]
                for a in range(side)
            ]
        )
        x = x + p[f"StdConv_{k}"]["bias"]
        groups = x.reshape(side, side, 4, -1)
        mean, var = (f((0, 1, 3), keepdims=True) for f in (groups.mean, groups.var))
        x = ((groups - mean) / np.sqrt(var + 1e-6)).reshape(x.shape)
        x = np.maximum(x * p[f"GroupNorm_{k}"]["scale"] + p[f"GroupNorm_{k}"]["bias"], 0)
    kernel = p["embedding"]["kernel"][0, 0]
    return x.reshape(-1, x.shape[-1]) @ kernel + p["embedding"]["bias"]


def octo_noise(
    tree: dict[str, Any],
    text: np.ndarray,
    images: dict[str, np.ndarray],
    noisy: np.ndarray,
    time: int,
) -> np.ndarray:
    """What Octo's network says of noisy actions (28,) after two steps, operation by operation."""
    p = tree["octo_transformer"]
    words = dense(text, p["task_language_projection"])
    words = words + p["task_language_pos_embedding"][0, : len(words)]
    tokens, kinds = [words], [(-1, False)] * len(words)
    for step in range(2):
        for name, frames in images.items():
            stem = p[f"observation_tokenizers_{name}"]["SmallStem16_0"]
            seen = dense(stem_tokens(frames[step], stem), p[f"obs_{name}_projection"])
            tokens.append(seen + p[f"obs_{name}_pos_embedding"][0, step])
        tokens += [words, p["readout_action_pos_embedding"][0, step]]
        kinds += [(step, False)] * (4 + 1 + len(words)) + [(step, True)]
    mask = np.array(
        [[b[0] <= a[0] and (not b[1] or a[1]) for b in kinds] for a in kinds], dtype=bool
    )
    x = np.concatenate(tokens)
    layers = p["BlockTransformer_0"]["Transformer_0"]
    for k in range(2):
        block = layers[f"encoderblock_{k}"]
        normed = layer_norm(x, block["LayerNorm_0"])
        x = x + attention(normed, mask, block["MultiHeadDotProductAttention_0"])
        inner = dense(layer_norm(x, block["LayerNorm_1"]), block["MlpBlock_0"]["Dense_0"])
        x = x + dense(gelu(inner), block["MlpBlock_0"]["Dense_1"])
    readout = layer_norm(x, layers["encoder_norm"])[-1]
    head = tree["heads_action"]["diffusion_model"]
    angle = 2 * pi * head["time_preprocess"]["kernel"] @ np.array([time])
    given = dense(np.concatenate([np.cos(angle), np.sin(angle)]), head["cond_encoder"]["Dense_0"])
    given = dense(swish(given), head["cond_encoder"]["Dense_1"])
    network = head["reverse_network"]
    y = dense(np.concatenate([given, readout, noisy]), network["Dense_0"])
    block = network["MLPResNetBlock_0"]
    y = y + dense(
        swish(dense(layer_norm(y, block["LayerNorm_0"]), block["Dense_0"])), block["Dense_1"]
    )
    return dense(swish(y), network["Dense_1"])


def test_published_weights_give_published_actions(demos: Path, tmp_path: Path) -> None:
    tree = octo_tree()
    write_tree(tree, tmp_path)
    policy = new(demos, weights=str(tmp_path))
    rng = np.random.default_rng(1)
    images = {
        "primary": rng.integers(0, 256, (2, 32, 32, 3)),
        "wrist": rng.integers(0, 256, (2, 16, 16, 3)),
    }
    seen = {
        camera: torch.tensor(frames / 255, dtype=torch.float32).movedim(-1, 1)[None]
        for camera, frames in zip(CAMERAS, images.values(), strict=True)
    }
    observations = Observations(seen, torch.zeros(1, 2, 0), torch.ones(1, 2, dtype=torch.bool))
    said = PromptInput("Touch it", {})
    readout = read_out(policy, observations, said)[:, -1]
    tokens = torch.tensor([policy.tokenizer.encode(said.text)])
    noisy, time = rng.normal(size=28), 3
    with torch.no_grad():
        text = policy.text(input_ids=tokens).last_hidden_state[0].numpy()
        noise = policy.head(
            readout, torch.tensor(noisy[None], dtype=torch.float32), torch.tensor([time])
        )
    expected = octo_noise(tree, text, images, noisy, time)
    np.testing.assert_allclose(noise[0].numpy(), expected, rtol=2e-3, atol=2e-3)
    assert np.ptp(expected) > 0.1
    assert (policy.word_places[16:] != 0).any()  # those that are not published


def test_a_checkpoint_does_not_need_them(demos: Path, tmp_path: Path) -> None:
    write_tree(octo_tree(), tmp_path / "octo")
    policy = new(demos, weights=str(tmp_path / "octo"))
    about = checkpoint.CheckpointDescription("octo", policy.config, policy.spec, {})
    (tmp_path / "run").mkdir()
    checkpoint.write(tmp_path / "run", policy, about)
    shutil.rmtree(tmp_path / "octo")
    again = load(tmp_path / "run", "cpu")
    np.testing.assert_array_equal(rollout(policy, {0: 1}, 1)[0], rollout(again, {0: 1}, 1)[0])


def test_weights_that_do_not_fit(demos: Path, tmp_path: Path) -> None:
    with pytest.raises(ClevrSkillsError, match="has no 300000/default/checkpoint here"):
        new(demos, weights=str(tmp_path))
    tree = octo_tree()
    write_tree(tree, tmp_path / "octo")
    with pytest.raises(ClevrSkillsError, match=r"head.first.weight is \(128, 92\), not \(128, 78"):
        new(demos, weights=str(tmp_path / "octo"), horizon=2)
    del tree["heads_action"]["diffusion_model"]["cond_encoder"]
    write_tree(tree, tmp_path / "less")
    with pytest.raises(ClevrSkillsError, match="have no heads_action/.*/cond_encoder/Dense_0/ker"):
        new(demos, weights=str(tmp_path / "less"))
    (tmp_path / "less/300000/default/checkpoint").write_bytes(b"\xc1")
    with pytest.raises(ClevrSkillsError, match="is not a Flax checkpoint"):
        new(demos, weights=str(tmp_path / "less"))


def test_the_gripper_is_not_normalized(demos: Path) -> None:
    policy, _ = policy_and_windows("octo", demos)
    action = torch.full((1, 7), 0.7)
    assert policy.normalize_action(action)[0, 6] == action[0, 6]
    assert policy.normalize_action(action)[0, 0] != action[0, 0]
