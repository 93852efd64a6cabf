"""RoboFlamingo."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from clevrskills_policies.robo_flamingo.backbones import make_language_model
from clevrskills_policies.robo_flamingo.policy import RoboFlamingo
from learned_policies import (
    policy_and_windows,
    rollout,
    save_tokenizer,
)
from safetensors.torch import save_file
from streams import moment, part, side_by_side, stories
from torch import Tensor

from clevrskills.baselines import checkpoint, load
from clevrskills.baselines.registry import configuration
from clevrskills.errors import ClevrSkillsError

FIRST, SECOND = slice(1), slice(1, 2)
FROZEN = ("language.model.", "images.model.")


def make(demos: Path, **changes: object) -> RoboFlamingo:
    policy, _ = policy_and_windows("robo_flamingo", demos, **changes)
    assert isinstance(policy, RoboFlamingo)
    return policy.eval()


def test_the_papers_hyper_parameters() -> None:
    with pytest.raises(ClevrSkillsError, match="one step at a time: starts_every must be a"):
        configuration("robo_flamingo", "tiny", {"starts_every": None})
    config = configuration("robo_flamingo", "default", {})
    assert (config.learning_rate, config.batch_size, config.image_size) == (1e-6, 6, 256)
    assert config.cameras == ("base_camera", "hand_camera") and not config.proprioception


# --- streaming


@torch.no_grad()
def test_streaming_equals_the_whole_sequence(demos: Path) -> None:
    policy = make(demos, steps=5, starts_every=5, lstm_layers=2, proprioception=True)
    seen, prompts = stories(policy, 9, (1, 2))
    pose, gripper = policy._decide(part(seen, slice(None), slice(5)), prompts)
    memories = policy.begin(prompts, [1, 2])
    for step in range(9):
        given, memories = policy.step(moment(seen, step), memories)
        if step < 5:
            expected = pose[:, step, 0], gripper[:, step, 0]
        else:  # it remembers as much as a window of training shows
            window = part(seen, slice(None), slice(step - 4, step + 1))
            late = policy._decide(window, prompts)
            expected = late[0][:, -1, 0], late[1][:, -1, 0]
        actions = policy.normalize_action.inverse(given[:, 0])
        assert (actions[:, :6] - expected[0]).abs().max() < 1e-4
        assert torch.equal(actions[:, 6:] > 0, expected[1] > 0)
        assert len(memories[0].answers) == min(step + 1, 4)
    assert (pose[0] - pose[1]).abs().max() > 1e-3
    assert (pose[:, 1:] - pose[:, :-1]).abs().max() > 1e-4


@torch.no_grad()
def test_episodes_of_different_age_are_worked_on_together(demos: Path) -> None:
    policy = make(demos, steps=6)
    seen, prompts = stories(policy, 6, (1, 2))
    pose, _ = policy._decide(seen, prompts)
    memories = policy.begin(prompts, [1, 2])
    for step in range(3):
        _, memories[:1] = policy.step(moment(seen, step, FIRST), memories[:1])
    for step in range(3):
        both = [moment(seen, 3 + step, FIRST), moment(seen, step, SECOND)]
        given, memories = policy.step(side_by_side(both, 0), memories)
        actions = policy.normalize_action.inverse(given[:, 0, :])[:, :6]
        assert (actions[0] - pose[0, 3 + step, 0]).abs().max() < 1e-4
        assert (actions[1] - pose[1, step, 0]).abs().max() < 1e-4


# --- what it sees


def test_the_gripper_is_on_or_off(demos: Path) -> None:
    policy = make(demos)
    for bias, state in ((5.0, 1.0), (-5.0, -1.0)):
        with torch.no_grad():
            policy.head.gripper[-1].bias.fill_(bias)
        assert rollout(policy, {0: 1}, 1)[0][0][0, 6] == pytest.approx(state)


def test_the_gripper_is_learned_as_on_or_off(demos: Path) -> None:
    policy, windows = policy_and_windows("robo_flamingo", demos)
    batch = windows[[0, 1]]
    policy.eval()
    with torch.no_grad():
        policy.head.gripper[-1].weight.zero_()
        policy.head.gripper[-1].bias.fill_(4.0)
        for value, loss in ((0.3, 0.018), (0.0, 4.018), (-1.0, 4.018)):
            actions = batch.actions.clone()
            actions[..., 6] = value
            found = policy(replace(batch, actions=actions))
            assert found["gripper"] == pytest.approx(loss, abs=1e-3)
            assert found["loss"] == pytest.approx(float(found["pose"]) + 0.01 * loss, abs=1e-4)


def test_padding_does_not_count(demos: Path) -> None:
    policy, windows = policy_and_windows("robo_flamingo", demos)
    policy.eval()
    batch = windows[range(len(windows))]
    mask = batch.observations.mask
    assert not mask.all()
    wild = {
        name: torch.where(mask[..., None, None, None], images, 255 - images)
        for name, images in batch.observations.images.items()
    }
    pad = torch.full((len(windows), 3), policy.tokenizer.pad)
    longer = replace(
        batch.prompts,
        tokens=torch.cat([batch.prompts.tokens, pad], 1),
        mask=torch.cat([batch.prompts.mask, torch.zeros_like(pad, dtype=torch.bool)], 1),
        image_index=torch.cat([batch.prompts.image_index, torch.full_like(pad, -1)], 1),
    )
    with torch.no_grad():
        loss = policy(batch)["loss"]
        other = replace(batch, observations=replace(batch.observations, images=wild))
        assert policy(other)["loss"] == loss
        assert policy(replace(batch, prompts=longer))["loss"] == pytest.approx(
            float(loss), rel=1e-4
        )


# --- training


def test_trained_parameters(demos: Path) -> None:
    policy, windows = policy_and_windows("robo_flamingo", demos, proprioception=True)
    policy(windows[[0]])["loss"].backward()
    for name, parameter in policy.named_parameters():
        assert parameter.requires_grad is not name.startswith(FROZEN), name
        assert (parameter.grad is not None) is parameter.requires_grad, name
    assert policy.pretrained() == set()


def test_chunks_of_actions(demos: Path) -> None:
    policy, windows = policy_and_windows("robo_flamingo", demos, horizon=3)
    assert policy(windows[[0]])["loss"].isfinite()
    assert rollout(policy, {0: 1}, 1)[0][0].shape == (3, 7)


# --- published weights


def published_names(name: str) -> str | None:
    """What a weight of the policy is called where RoboFlamingo publishes it."""
    for own, theirs in (
        ("resampler.", "perceiver."),
        ("language.cross.", "lang_encoder.gated_cross_attn_layers."),
        ("head.lstm.", "lm_head.rnn."),
        ("head.pose.", "lm_head.actions.mlp."),
        ("head.gripper.", "lm_head.gripper.mlp."),
    ):
        if name.startswith(own):
            return name.replace(own, theirs, 1)
    return None


def publish(policy: RoboFlamingo, vocabulary: int) -> dict[str, Tensor]:
    """Weights of a policy as RoboFlamingo publishes its own, all of them changed."""
    found = {
        theirs: tensor + 0.1
        for name, tensor in policy.state_dict().items()
        if (theirs := published_names(name)) is not None
    }
    words = torch.arange(vocabulary + 3.0)[:, None].repeat(1, policy.language.width)
    return {
        **found,
        "lang_encoder.transformer.wte.weight": words,
        "lang_encoder.transformer.blocks.0.gated_cross_attn_layer.attn_gate": torch.ones(1),
    }


@pytest.mark.parametrize("kind", ["robo_flamingo", "open_flamingo"])
def test_published_weights(demos: Path, tmp_path: Path, kind: str) -> None:
    plain = make(demos)
    weights = publish(plain, plain.tokenizer.image)
    if kind == "robo_flamingo":
        data = {"epoch": 3, "model_state_dict": {f"module.{n}": t for n, t in weights.items()}}
    else:
        data = {n: t for n, t in weights.items() if not n.startswith("lm_head.")}
    torch.save(data, tmp_path / "weights.pth")
    policy = make(demos, weights=str(tmp_path / "weights.pth"))
    before = plain.state_dict()
    for name, tensor in policy.state_dict().items():
        head = name.startswith("head.")
        if name in ("image_token", "end_of_chunk", "language.model.wte.weight"):
            continue
        changed = published_names(name) is not None and not (head and kind == "open_flamingo")
        torch.testing.assert_close(tensor, before[name] + 0.1 * changed)
    count = plain.tokenizer.image
    words = policy.language.model.get_input_embeddings().weight
    assert words[:count, 0].tolist() == list(range(count))
    torch.testing.assert_close(words[count:], before["language.model.wte.weight"][count:])
    assert (policy.end_of_chunk == count).all() and (policy.image_token == count + 1).all()


def test_a_checkpoint_does_not_need_them(demos: Path, tmp_path: Path) -> None:
    """Embeddings of words are of these weights, not of those of the language model: they stay."""
    mpt = early_mpt(tmp_path / "mpt")
    save_tokenizer(mpt, ["Put", "near", "very", "</s>"], "</s>", "</s>")
    plain = make(demos, language_model=str(mpt))
    path = tmp_path / "weights.pt"
    torch.save(publish(plain, plain.tokenizer.image), path)
    policy = make(demos, language_model=str(mpt), weights=str(path))
    assert plain.pretrained() - policy.pretrained() == {"language.model.wte.weight"}
    about = checkpoint.CheckpointDescription("robo_flamingo", policy.config, policy.spec, {})
    (tmp_path / "run").mkdir()
    checkpoint.write(tmp_path / "run", policy, about)
    path.unlink()
    (tmp_path / "mpt").rename(tmp_path / "language_model")
    again = load(tmp_path / "run", "cpu", str(tmp_path))
    before, after = (p.language.model.get_input_embeddings().weight for p in (policy, again))
    assert torch.equal(before, after)
    np.testing.assert_array_equal(rollout(policy, {0: 1}, 2)[0], rollout(again, {0: 1}, 2)[0])


def test_a_frozen_language_model_takes_half_the_memory(demos: Path, tmp_path: Path) -> None:
    mpt = early_mpt(tmp_path / "mpt")
    save_tokenizer(mpt, ["Put", "near", "very", "</s>"], "</s>", "</s>")
    exact = make(demos, language_model=str(mpt))
    policy = make(demos, language_model=str(mpt), language_dtype="bfloat16")
    kinds = {p.dtype for p in policy.language.model.parameters()}
    assert kinds == {torch.bfloat16}
    assert {p.dtype for p in policy.parameters() if p.requires_grad} == {torch.float32}
    found, expected = (np.stack(rollout(p, {0: 1}, 3)[0]) for p in (policy, exact))
    assert not np.array_equal(found, expected)
    np.testing.assert_allclose(found[..., :6], expected[..., :6], atol=0.05)


@pytest.mark.parametrize("kind", ["a file", "a folder"])
def test_where_published_weights_are(demos: Path, tmp_path: Path, kind: str) -> None:
    plain = make(demos)
    path = tmp_path / ("checkpoint.pt" if kind == "a folder" else "other.pth")
    torch.save(publish(plain, plain.tokenizer.image), path)
    policy = make(demos, weights=str(tmp_path if kind == "a folder" else path))
    norm = policy.state_dict()["resampler.norm.weight"]
    torch.testing.assert_close(norm, plain.state_dict()["resampler.norm.weight"] + 0.1)
    with pytest.raises(ClevrSkillsError, match="has no checkpoint.pt here"):
        make(demos, weights=str(tmp_path / "nothing"))


def drop_one(weights: dict[str, Tensor]) -> None:
    del weights["perceiver.norm.bias"]


def drop_one_of_the_head(weights: dict[str, Tensor]) -> None:
    del weights["lm_head.gripper.mlp.0.bias"]


def resize_one(weights: dict[str, Tensor]) -> None:
    weights["perceiver.norm.bias"] = torch.zeros(3)


def shorten(weights: dict[str, Tensor]) -> None:
    weights["lang_encoder.transformer.wte.weight"] = torch.zeros(1, 64)


@pytest.mark.parametrize("damage", [drop_one, drop_one_of_the_head, resize_one, shorten])
def test_weights_of_another_model(
    demos: Path, tmp_path: Path, damage: Callable[[dict[str, Tensor]], None]
) -> None:
    policy = make(demos)
    weights = publish(policy, policy.tokenizer.image)
    damage(weights)
    torch.save(weights, tmp_path / "weights.pt")
    with pytest.raises(ClevrSkillsError, match="does not fit the configuration"):
        make(demos, weights=str(tmp_path / "weights.pt"))


def test_weights_that_cannot_be_read(demos: Path, tmp_path: Path) -> None:
    path = tmp_path / "weights.pt"
    with pytest.raises(ClevrSkillsError, match="cannot be read"):
        make(demos, weights=str(path))
    path.write_bytes(b"no weights")
    with pytest.raises(ClevrSkillsError, match="cannot be read"):
        make(demos, weights=str(path))
    torch.save({"model": Path("/")}, path)  # what needs code to be read is not
    with pytest.raises(ClevrSkillsError, match="cannot be read"):
        make(demos, weights=str(path))


def early_mpt(folder: Path, **changes: object) -> Path:
    """The tiny language model as an early MPT is published."""
    torch.manual_seed(2)
    model = make_language_model("tiny-mpt")
    config = {
        "model_type": "mosaic_gpt",
        **{k: getattr(model.config, k) for k in ("d_model", "n_heads", "n_layers", "max_seq_len")},
        "vocab_size": model.config.vocab_size,
        "alibi": True,
        "attn_qk_ln": True,
        "no_bias": True,
        **changes,
    }
    weights = {}
    for name, tensor in model.state_dict().items():
        for new, early in (
            ("norm_f", "ln_f"),
            ("norm_1", "ln_1"),
            ("norm_2", "ln_2"),
            ("ffn.up_proj", "mlp.mlp_up"),
            ("ffn.down_proj", "mlp.mlp_down"),
            ("Wqkv.q_ln", "q_ln"),
            ("Wqkv.k_ln", "k_ln"),
        ):
            name = name.replace(new, early)
        weights[f"transformer.{name}"] = tensor + 0.01
    folder.mkdir()
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    (folder / "config.json").write_text(json.dumps(config))
    return folder


def test_an_early_mpt(tmp_path: Path) -> None:
    folder = early_mpt(tmp_path / "mpt")
    torch.manual_seed(2)
    expected = make_language_model("tiny-mpt").state_dict()
    found = make_language_model(str(folder)).state_dict()
    assert found.keys() == expected.keys()
    for name, tensor in found.items():
        torch.testing.assert_close(tensor, expected[name] + 0.01)


def test_queries_and_keys_are_normalized() -> None:
    torch.manual_seed(0)
    model = make_language_model("tiny-mpt").eval()
    inputs = torch.randn(1, 6, 64)
    before = model(inputs_embeds=inputs).last_hidden_state
    with torch.no_grad():
        for block in model.blocks:
            block.attn.Wqkv.weight[:128] *= 7.0
        after = model(inputs_embeds=inputs).last_hidden_state
        for block in model.blocks:
            block.attn.Wqkv.weight[128:] *= 7.0
        values = model(inputs_embeds=inputs).last_hidden_state
    torch.testing.assert_close(after, before, atol=1e-3, rtol=1e-3)
    assert (values - before).abs().max() > 0.1


@pytest.mark.parametrize(
    "changes", [{"attn_qk_ln": False}, {"alibi": False}, {"attn_clip_qkv": 6.0}]
)
def test_another_mpt(tmp_path: Path, changes: dict[str, object]) -> None:
    folder = early_mpt(tmp_path / "mpt", **changes)
    with pytest.raises(ClevrSkillsError, match=f"as RoboFlamingo needs it: {next(iter(changes))}"):
        make_language_model(str(folder))


@pytest.mark.parametrize("what", ["language_model", "image_encoder"])
def test_backbones_that_are_not_there(demos: Path, tmp_path: Path, what: str) -> None:
    with pytest.raises(ClevrSkillsError, match="cannot be loaded: .*Give the folder") as caught:
        make(demos, **{what: str(tmp_path)})
    assert "\n" not in str(caught.value)


def test_it_learns_to_see_without_published_weights(demos: Path) -> None:
    default = configuration("robo_flamingo", "default", {})
    assert default.weights is None and default.gate > 0.1 and default.learning_rate == 1e-6
    policy, _ = policy_and_windows("robo_flamingo", demos, gate=default.gate, scratch_rate=1e-4)
    assert policy.learning_rate == 1e-4
    with pytest.raises(ClevrSkillsError, match="set scratch_rate"):
        configuration("robo_flamingo", "default", {"learning_rate": 1e-4})
    gates = [p for name, p in policy.named_parameters() if "attn_gate" in name]
    assert gates and all(gate.tanh() > 0.4 for gate in gates)
