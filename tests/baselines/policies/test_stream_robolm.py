"""StreamRoboLM."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from learned_policies import (
    observation,
    overfit,
    policy_and_windows,
    prompt,
    rollout,
    save_tokenizer,
)
from safetensors.torch import load_file, save_file
from streams import moment, part, side_by_side, stories
from torch import Tensor
from torch.nn import functional
from transformers import AutoModel, ViTModel

from clevrskills.baselines import checkpoint, load
from clevrskills.baselines.batch import Observations, Prompts
from clevrskills.baselines.policies.stream_robolm.backbones import (
    SHOWN,
    UNIT_M,
    PerceptionEncoder,
    PretrainedEncoder,
    make_language_model,
)
from clevrskills.baselines.policies.stream_robolm.cache import window_mask
from clevrskills.baselines.policies.stream_robolm.policy import StreamRoboLM, StreamRoboLMConfig
from clevrskills.baselines.prompts import WordTokenizer, encode, stack
from clevrskills.baselines.registry import configuration
from clevrskills.baselines.training.arguments import TrainArgs
from clevrskills.baselines.training.trainer import learning_rate, make_optimizer
from clevrskills.baselines.training.training_config import prepare
from clevrskills.core import geometry
from clevrskills.core.checkpoint import WEIGHTS_FILE, find, read_tensors
from clevrskills.core.policy import PromptInput
from clevrskills.envs.environment import ClevrSkillsEnv
from clevrskills.errors import ClevrSkillsError, UnknownNameError

BACKBONES = ["tiny-opt", "tiny-llama"]
FIRST, SECOND = slice(1), slice(1, 2)


def test_the_papers_hyper_parameters() -> None:
    for variant, model in (
        ("default", "facebook/opt-1.3b"),
        ("opt", "facebook/opt-1.3b"),
        ("llama", "meta-llama/Llama-3.2-3B"),
    ):
        config = configuration("stream_robolm", variant, {})
        assert (config.learning_rate, config.batch_size, config.image_size) == (1e-6, 12, 256)
        assert config.cameras == ("base_camera", "hand_camera") and not config.proprioception
        assert config.language_model == model and config.lora_rank
        assert config.language_dtype == "bfloat16"


def test_new_parts_learn_faster_than_pretrained_ones(demos: Path) -> None:
    paper = configuration("stream_robolm", "default", {})
    moved = sum(learning_rate(k, 20_000, paper, paper.learning_rate) for k in range(20_000))
    assert 0.0105 < moved < 0.0115  # as docs/weights.md says
    lab = configuration("stream_robolm", "lab", {})
    rates = [list(pair) for pair in lab.part_rates]
    policy, _ = policy_and_windows("stream_robolm", demos, lora_rank=4, part_rates=rates)
    names = {id(parameter): name for name, parameter in policy.named_parameters()}
    for group in make_optimizer(policy).param_groups:
        for parameter in group["params"]:
            name = names[id(parameter)]
            factor = 0.05 if name.startswith("sight.images.") else 1.0
            assert group["factor"] == (0.5 if "lora_" in name else factor), name


def test_attention_mask() -> None:
    prompts = torch.tensor([[1, 1, 0], [1, 1, 1]], dtype=torch.bool)
    mask = window_mask(prompts, 3, 2)[:, 0].int().tolist()
    assert mask[0] == [
        [1, 0, 0, 0, 0, 0],
        [1, 1, 0, 0, 0, 0],
        [1, 1, 0, 0, 0, 0],
        [1, 1, 0, 1, 0, 0],
        [1, 1, 0, 1, 1, 0],
        [1, 1, 0, 0, 1, 1],
    ]
    assert mask[1][2] == [1, 1, 1, 0, 0, 0] and mask[1][5] == [1, 1, 1, 0, 1, 1]


# --- streaming


def actions_of(policy: StreamRoboLM, seen: Observations, prompts: Prompts) -> Tensor:
    """The next actions at each step of whole windows, (B, T, H, 7)."""
    return policy._predict(policy._known(seen, prompts))


@pytest.mark.parametrize(
    ("backbone", "window"), [("tiny-opt", 4), ("tiny-llama", 4), ("tiny-opt", 1)]
)
@torch.no_grad()
def test_streaming_equals_the_whole_sequence(demos: Path, backbone: str, window: int) -> None:
    policy, _ = policy_and_windows(
        "stream_robolm",
        demos,
        language_model=backbone,
        steps=14,
        window=window,
        proprioception=True,
        lstm_layers=2,
    )
    assert isinstance(policy, StreamRoboLM)
    policy.eval()
    policy.language.model.config.max_position_embeddings = 30  # the prompts have 23 and 33
    seen, prompts = stories(policy, 14, (1, 2))
    whole = actions_of(policy, seen, prompts)[:, :, 0]
    memories = policy.begin(prompts, [1, 2])
    assert memories[0].prompt != memories[1].prompt
    for step in range(14):
        actions, memories = policy.step(moment(seen, step), memories)
        assert (actions[:, 0] - whole[:, step]).abs().max() < 1e-4
    # the episodes differ, and so do the steps
    assert (whole[0] - whole[1]).abs().max() > 1e-3
    assert (whole[:, 1:] - whole[:, :-1]).abs().max() > 1e-3


@pytest.mark.slow
@torch.no_grad()
def test_long_episodes_are_acted_as_they_are_trained(demos: Path) -> None:
    policy, _ = policy_and_windows(
        "stream_robolm", demos, steps=48, starts_every=20, window=48, proprioception=True
    )
    assert isinstance(policy, StreamRoboLM)
    policy.eval()
    seen, prompts = stories(policy, 240, (1,))
    memories = policy.begin(prompts, [1])
    windows: dict[int, torch.Tensor] = {}
    for step in range(240):
        begin = -(-max(0, step - 47) // 20) * 20  # the earliest window that has this step
        if begin not in windows:
            window = part(seen, slice(None), slice(begin, begin + 48))
            windows[begin] = actions_of(policy, window, prompts)[0, :, 0]
        actions, memories = policy.step(moment(seen, step), memories)
        assert (actions[0, 0] - windows[begin][step - begin]).abs().max() < 1e-4
        assert len(memories[0].streams) <= 3
    assert max(windows) > 180


@torch.no_grad()
def test_a_window_of_one_step_has_no_memory(demos: Path) -> None:
    policy, _ = policy_and_windows("stream_robolm", demos, starts_every=6, steps=6, window=1)
    assert isinstance(policy, StreamRoboLM)
    policy.eval()
    seen, prompts = stories(policy, 6, (1, 2))
    whole = actions_of(policy, seen, prompts)[:, :, 0]
    steps = [part(seen, slice(None), each) for each in (slice(3, 6), slice(3, 6))]
    other = actions_of(policy, side_by_side(steps, 1), prompts)[:, :, 0]
    torch.testing.assert_close(other[:, 3:], whole[:, 3:])
    assert (other[:, :3] - whole[:, :3]).abs().max() > 1e-3


@torch.no_grad()
def test_episodes_of_different_age_are_worked_on_together(demos: Path) -> None:
    policy, _ = policy_and_windows("stream_robolm", demos, window=3, steps=5, starts_every=3)
    assert isinstance(policy, StreamRoboLM)
    policy.eval()
    seen, prompts = stories(policy, 8, (1, 2))
    whole = actions_of(policy, part(seen, slice(None), slice(5)), prompts)[:, :, 0]
    late = actions_of(policy, part(seen, slice(None), slice(3, 8)), prompts)[:, :, 0]
    memories = policy.begin(prompts, [1, 2])
    for step in range(5):
        _, memories[:1] = policy.step(moment(seen, step, FIRST), memories[:1])
    for step in range(3):
        both = [moment(seen, 5 + step, FIRST), moment(seen, step, SECOND)]
        actions, memories = policy.step(side_by_side(both, 0), memories)
        assert (actions[0] - late[0, 2 + step]).abs().max() < 1e-4
        assert (actions[1] - whole[1, step]).abs().max() < 1e-4


def test_memory_does_not_grow(demos: Path) -> None:
    policy, _ = policy_and_windows("stream_robolm", demos)
    policy.reset({0: prompt()})
    length = policy._memories[0].prompt
    for step in range(20):
        policy.act({0: observation(policy, 0, step)})
        memory = policy._memories[0]
        expected = length + min(step % 8 + 1, policy.config.window - 1)
        (stream,) = memory.streams
        assert all(t.shape[1] == expected for layer in stream.cache for t in layer)
    assert memory.age == 20


@torch.no_grad()
def test_it_does_the_first_of_the_actions_that_it_learns(demos: Path) -> None:
    given = {"steps": 4, "starts_every": 4, "window": 4, "horizon": 3, "vacuum_weight": 0.1}
    policy, _ = policy_and_windows("stream_robolm", demos, **given)
    assert isinstance(policy, StreamRoboLM)
    policy.eval()
    seen, prompts = stories(policy, 4, (1,))
    whole, memories = actions_of(policy, seen, prompts), policy.begin(prompts, [1])
    assert whole.shape == (1, 4, 3, 7)
    for step in range(4):
        actions, memories = policy.step(moment(seen, step), memories)
        assert actions.shape == (1, 1, 7)
        assert (actions[:, 0, :6] - whole[:, step, 0, :6]).abs().max() < 1e-4
        vacuum = policy.normalize_action.inverse(actions)[0, 0, 6]
        assert vacuum == pytest.approx(1.0 if whole[0, step, 0, 6] > 0 else -1.0, abs=1e-5)


def test_the_vacuum_is_learned_by_cross_entropy(demos: Path) -> None:
    policy, windows = policy_and_windows("stream_robolm", demos, vacuum_weight=0.1)
    losses = policy(windows[[0, 1]])
    total = losses["motion"] + 0.1 * losses["vacuum"]
    assert losses["loss"].item() == pytest.approx(total.item(), rel=1e-6)


# --- what it sees


@torch.no_grad()
def test_tokens_attend_to_the_image_before_them(demos: Path) -> None:
    policy, _ = policy_and_windows("stream_robolm", demos)
    assert isinstance(policy, StreamRoboLM)
    policy.eval()
    _, prompts = stories(policy, 1, (1,))
    first, second = (prompts.image_index[0] >= 0).nonzero()[:, 0].tolist()

    def keys(images: torch.Tensor) -> torch.Tensor:
        memory = policy.begin(replace(prompts, images=images), [0])[0]
        return memory.begun.cache[-1][0][:, 1:]  # without the token that begins

    before = keys(prompts.images)
    for picture, place in ((0, first), (1, second)):
        images = prompts.images.clone()
        images[picture] = images[picture].flip(-1)
        changed = (keys(images) - before).abs().amax((0, 2)) > 1e-6
        assert not changed[:place].any() and changed[place]
    assert first > 0


def test_padding_does_not_count(demos: Path) -> None:
    policy, windows = policy_and_windows("stream_robolm", demos)
    policy.eval()
    batch = windows[range(len(windows))]
    mask = batch.observations.mask
    assert not mask.all()
    wild = {
        name: torch.where(mask[..., None, None, None], images, 255 - images)
        for name, images in batch.observations.images.items()
    }
    other = replace(batch, observations=replace(batch.observations, images=wild))
    with torch.no_grad():
        assert policy(other)["loss"] == policy(batch)["loss"]


# --- training


@pytest.mark.parametrize("backbone", BACKBONES)
def test_trained_parameters(demos: Path, backbone: str) -> None:
    policy, windows = policy_and_windows("stream_robolm", demos, language_model=backbone)
    policy(windows[[0]])["loss"].backward()
    for name, parameter in policy.named_parameters():
        own = name.startswith("language.model.") and "lora_" not in name
        assert parameter.requires_grad is not own, name
        assert (parameter.grad is not None) is parameter.requires_grad, name
    assert policy.pretrained() == set()
    free, _ = policy_and_windows("stream_robolm", demos, language_model=backbone, lora_rank=None)
    assert all(parameter.requires_grad for parameter in free.parameters())


def test_features_computed_twice_give_the_same_gradients(demos: Path) -> None:
    gradients = []
    for recompute in (False, True):
        policy, windows = policy_and_windows("stream_robolm", demos, recompute=recompute)
        policy(windows[[0, 1]])["loss"].backward()
        gradients.append([p.grad for p in policy.parameters() if p.requires_grad])
    for one, two in zip(*gradients, strict=True):
        torch.testing.assert_close(one, two)


# --- trained backbones


@pytest.fixture(params=BACKBONES)
def backbones(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, str]:
    """Folders of a language model and an image encoder, as transformers writes them."""
    torch.manual_seed(1)
    make_language_model(request.param).save_pretrained(tmp_path / "language_model")
    words = ["<unk>", "<s>", "</s>", "move", "to", "the", "Put", "very", "near", "over"]
    save_tokenizer(tmp_path / "language_model", words, "</s>", "<unk>")
    PretrainedEncoder("tiny-vit", 64).model.save_pretrained(tmp_path / "image_encoder")
    return {name: str(tmp_path / name) for name in ("language_model", "image_encoder")}


def test_trained_backbones(demos: Path, tmp_path: Path, backbones: dict[str, str]) -> None:
    policy, windows = policy_and_windows("stream_robolm", demos, **backbones)
    assert isinstance(policy, StreamRoboLM)
    torch.manual_seed(1)
    words = policy.language.embed(torch.arange(10))
    expected = make_language_model(f"tiny-{policy.language.model.config.model_type}")
    torch.testing.assert_close(words, expected.get_input_embeddings()(torch.arange(10)))
    assert policy.tokenizer.image == 10
    assert policy.tokenizer.encode("Put very near ") == [6, 7, 8]
    assert policy(windows[[0, 1]])["loss"].isfinite()
    # what was loaded and is not trained stays out of checkpoints
    about = checkpoint.CheckpointDescription("stream_robolm", policy.config, policy.spec, {})
    (tmp_path / "saved").mkdir()
    checkpoint.write(tmp_path / "saved", policy, about)
    kept = read_tensors(tmp_path / "saved" / WEIGHTS_FILE)
    own = [name for name in kept if name.startswith("language.model.")]
    assert own and all("lora_" in name for name in own)
    assert any(name.startswith("sight.images.model.") for name in kept)
    again = load(tmp_path / "saved", "cpu", str(tmp_path))
    np.testing.assert_array_equal(rollout(policy, {0: 1}, 2)[0], rollout(again, {0: 1}, 2)[0])


def test_a_frozen_language_model_takes_half_the_memory(
    demos: Path, backbones: dict[str, str]
) -> None:
    """Its weights are bfloat16, all that is trained is float32; what it answers hardly differs."""
    exact, windows = policy_and_windows("stream_robolm", demos, **backbones)
    policy, _ = policy_and_windows("stream_robolm", demos, **backbones, language_dtype="bfloat16")
    assert {p.dtype for p in policy.parameters() if p.requires_grad} == {torch.float32}
    kept = policy.pretrained()
    assert {p.dtype for n, p in policy.named_parameters() if n in kept} == {torch.bfloat16}
    batch = windows[[0, 1]]
    expected, found = exact(batch)["loss"], policy(batch)["loss"]
    assert found != expected
    torch.testing.assert_close(found, expected, atol=0.02, rtol=0.02)
    acted, as_before = rollout(policy, {0: 1}, 4)[0], rollout(exact, {0: 1}, 4)[0]
    np.testing.assert_allclose(acted, as_before, atol=0.02)
    before, after = overfit(policy, batch, 20)
    assert after < 0.7 * before


def test_unknown_numbers() -> None:
    with pytest.raises(UnknownNameError, match="language_dtype 'float8'; allowed: float32, bfl"):
        StreamRoboLMConfig(language_dtype="float8")


@pytest.mark.parametrize("lora_rank", [None, 4])
def test_a_checkpoint_needs_no_published_weights_of_trained_parts(
    demos: Path, tmp_path: Path, backbones: dict[str, str], lora_rank: int | None
) -> None:
    policy, _ = policy_and_windows("stream_robolm", demos, **backbones, lora_rank=lora_rank)
    assert isinstance(policy, StreamRoboLM)
    images = ViTModel.from_pretrained(tmp_path / "image_encoder", add_pooling_layer=False)
    own = policy.sight.images.model.state_dict()
    assert all(torch.equal(own[name], tensor) for name, tensor in images.state_dict().items())
    words = AutoModel.from_pretrained(tmp_path / "language_model").get_input_embeddings().weight
    assert torch.equal(policy.language.model.get_input_embeddings().weight, words)
    about = checkpoint.CheckpointDescription("stream_robolm", policy.config, policy.spec, {})
    (tmp_path / "saved").mkdir()
    checkpoint.write(tmp_path / "saved", policy, about)
    (tmp_path / "image_encoder/model.safetensors").unlink()
    if lora_rank is None:
        (tmp_path / "language_model/model.safetensors").unlink()
    again = load(tmp_path / "saved", "cpu", str(tmp_path))
    np.testing.assert_array_equal(rollout(policy, {0: 1}, 2)[0], rollout(again, {0: 1}, 2)[0])


@pytest.mark.parametrize("what", ["language_model", "image_encoder"])
def test_backbones_that_are_not_there(demos: Path, tmp_path: Path, what: str) -> None:
    with pytest.raises(ClevrSkillsError, match="cannot be loaded: .*Give the folder") as caught:
        policy_and_windows("stream_robolm", demos, **{what: str(tmp_path)})
    assert "\n" not in str(caught.value)


# --- compact


@pytest.mark.slow
def test_compact_learns_from_nothing_on_a_cpu(demos: Path) -> None:
    policy, windows = policy_and_windows("stream_robolm", demos, "compact", warm_up_steps=1)
    assert not policy.starts_published and policy.pretrained() == set()
    assert sum(p.numel() for p in policy.parameters()) < 5e6  # 10 MB as 16-bit numbers
    before, after = overfit(policy, windows[[0]], 25)
    assert after < 0.5 * before
    assert rollout(policy, {0: 1}, 2)[0][0].shape == (1, 7)


def test_compact_declares_the_data_of_its_perception(demos: Path, tmp_path: Path) -> None:
    own = {"policy": "stream_robolm", "configuration": "compact", "data": (demos,)}
    training = prepare(TrainArgs(**own, out=tmp_path))  # type: ignore[arg-type]
    policy, windows, _ = training.make(None)
    about = training.describe(policy, windows)
    perception = checkpoint.describe(find(Path("zoo/compact-l0")))
    assert {*about.trained_tasks} == {*about.provenance["tasks"], *perception.trained_tasks}
    assert about.provenance["track"]["demonstrations"] > perception.learned_from["demonstrations"]
    assert about.learned_from == perception.learned_from


@pytest.fixture
def perception() -> PerceptionEncoder:
    encoder = PerceptionEncoder("zoo/compact-l0")
    encoder.start()
    return encoder.eval()


@pytest.mark.render
def test_perception_locates_bodies_and_those_that_the_prompt_shows(
    perception: PerceptionEncoder,
) -> None:
    env = ClevrSkillsEnv("pick", split="val", obs_mode="rgb", cameras=("base_camera",))
    for seed in range(3):
        observation, _ = env.reset(seed=seed)
        images = observation["sensor_data"]["base_camera"]["rgb"].permute(0, 3, 1, 2) / 255
        content, position, logit = perception._bodies(images)[0, 1:].split((64, 3, 1), -1)
        assert torch.allclose(content.norm(dim=-1), torch.ones(len(content)))
        found = position[logit[:, 0] > 0] * UNIT_M
        bodies = [k for k, body in enumerate(env.layouts[0].bodies) if body]
        apart = torch.cdist(env.world.body_pose[0, bodies, :3], found).amin(-1)
        assert apart.median() < 0.025, apart
        prompt = PromptInput(env.prompt.text, env.prompt.images())
        prompts = stack([encode(prompt, WordTokenizer(), 256)], WordTokenizer.pad)
        prompts = replace(prompts, images=prompts.images / 255)
        pose = env.world.end_effector_pose[:1]
        _, places = perception(images, perception.shown(prompts), pose)
        expected = torch.zeros(SHOWN, 3)
        for _, key in env.prompt.placeholders():  # at most one; all others are zeros
            at = env.world.body_pose[0, int(key.removeprefix("object_")), :3]
            expected[0] = geometry.to_local(pose[0], at[None])[0]
        assert torch.allclose(places.reshape(SHOWN, 3) * UNIT_M, expected, atol=0.03)
    env.close()


def test_perception_is_not_trained(perception: PerceptionEncoder) -> None:
    images, shown = torch.rand(2, 3, 256, 256), torch.rand(2, SHOWN, 64)
    tokens, places = perception(images, shown)
    assert tokens.shape == (2, perception.count, perception.width)
    assert places.shape == (2, perception.places)
    assert perception(images[:0], shown[:0])[0].shape == (0, perception.count, perception.width)
    tokens.sum().backward()
    trained = {name for name, each in perception.named_parameters() if each.grad is not None}
    assert trained == {"token.weight", "token.bias"}


def test_training_encodes_an_image_once(
    perception: PerceptionEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    images, encode, encoded = torch.rand(3, 3, 256, 256), perception._bodies, list[int]()
    shown = torch.zeros(3, SHOWN, 64)
    expected = perception(images, shown)[0]

    def counted(new: torch.Tensor) -> torch.Tensor:
        encoded.append(len(new))
        return encode(new)

    monkeypatch.setattr(perception, "_bodies", counted)
    for chosen in ([0, 1], [1, 2, 2]):
        tokens, _ = perception.train()(images[chosen], shown[chosen])
        torch.testing.assert_close(tokens, expected[chosen])
    perception.eval()(images, shown)
    assert encoded == [2, 1, 3]


def test_positions_are_relative_to_the_end_effector(perception: PerceptionEncoder) -> None:
    """Equal scenes with the arm elsewhere differ in the positions of bodies alone."""
    torch.manual_seed(0)
    images, shown = torch.full((1, 3, 256, 256), 0.5), torch.rand(1, SHOWN, 64)
    for left in (60, 150):
        images[..., 110:140, left : left + 30] = torch.rand(3, 1, 1)
    turns = functional.normalize(torch.randn(2, 4), dim=-1)
    a, b = torch.cat([torch.rand(2, 3), turns], -1)
    found = [perception(images, shown, pose[None]) for pose in (a, b)]
    in_world = [
        geometry.to_world(pose, places.detach().reshape(SHOWN, 3) * UNIT_M)
        for pose, (_, places) in zip((a, b), found, strict=True)
    ]
    torch.testing.assert_close(*in_world, atol=1e-4, rtol=1e-4)
    (first, _), (second, _) = found
    exist = perception._bodies(images)[:, :, -1] > 0
    exist[:, 0] = False
    assert exist.any() and not exist[:, 1:].all()
    torch.testing.assert_close(first[~exist], second[~exist])
    assert ((first - second)[exist].abs().amax(-1) > 0.01).all()


def test_inputs_do_not_reveal_the_motion_of_the_arm(demos: Path) -> None:
    policy, windows = policy_and_windows("stream_robolm", demos, "compact", cameras=["base_camera"])
    names = [name for name, size in policy.spec.state_parts.items() for _ in range(size)]
    known = [name for name, kept in zip(names, policy.inputs.tolist(), strict=True) if kept]
    assert sorted(known) == ["ee_pose"] * 5 + ["holding"]  # height and orientation
    tiny, _ = policy_and_windows("stream_robolm", demos, "tiny", proprioception=True)
    assert tiny.inputs.all()
    tiny.spec = replace(tiny.spec, state_parts={"qpos": tiny.state_size})  # no pose is needed
    state = torch.zeros(1, 2, tiny.state_size)
    assert tiny._poses(state).tolist() == [[[0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]] * 2]


def test_perception_of_another_policy_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ClevrSkillsError, match="nothing"):
        PerceptionEncoder(str(tmp_path / "nothing")).start()


def test_a_checkpoint_takes_published_weights_from_another_folder(
    demos: Path, tmp_path: Path, backbones: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)  # else it tries for long
    policy, _ = policy_and_windows("stream_robolm", demos, **backbones)
    assert policy.starts_published
    (tmp_path / "saved").mkdir()
    about = checkpoint.CheckpointDescription("stream_robolm", policy.config, policy.spec, {})
    checkpoint.write(tmp_path / "saved", policy, about)
    (tmp_path / "moved").mkdir()
    for name in backbones:
        (tmp_path / name).rename(tmp_path / "moved" / name)
    config = json.loads((tmp_path / "saved/config.json").read_text())["config"]
    assert (config["language_model"], config["image_encoder"]) == tuple(backbones)
    with pytest.raises(ClevrSkillsError, match="--policy-arg weights=DIR"):
        load(tmp_path / "saved", "cpu")
    again = load(tmp_path / "saved", "cpu", weights=str(tmp_path / "moved"))
    np.testing.assert_array_equal(rollout(policy, {0: 1}, 2)[0], rollout(again, {0: 1}, 2)[0])
    with pytest.raises(ClevrSkillsError, match="there is no folder language_model"):
        load(tmp_path / "saved", "cpu", weights=str(tmp_path))


def test_weights_that_are_not_all_there(
    demos: Path, tmp_path: Path, backbones: dict[str, str]
) -> None:
    path = tmp_path / "image_encoder/model.safetensors"
    weights = load_file(path)
    del weights["layernorm.weight"]
    save_file(weights, path, metadata={"format": "pt"})
    with pytest.raises(ClevrSkillsError, match="lacks 1 weights, such as layernorm.weight"):
        policy_and_windows("stream_robolm", demos, **backbones)


def test_loading_is_silent(
    demos: Path, backbones: dict[str, str], capfd: pytest.CaptureFixture[str]
) -> None:
    ViTModel(ViTModel.from_pretrained(backbones["image_encoder"]).config).save_pretrained(
        backbones["image_encoder"]
    )  # with a pooler, which is not used
    capfd.readouterr()
    policy_and_windows("stream_robolm", demos, **backbones)
    assert capfd.readouterr() == ("", "")
