"""Our client of GR00T's policy servers, with a stand-in for one."""

import re
import socket
from pathlib import Path
from typing import Any

import msgpack
import numpy as np
import pytest
from fake_suite import FakeSuite

from clevrskills.core.policy import ObservationOptions, PolicyError
from clevrskills.core.policy_loader import PolicySource
from clevrskills.dataset_tools.dataset import Dataset
from clevrskills.dataset_tools.export.lerobot.modality import modality
from clevrskills.errors import ClevrSkillsError
from clevrskills.evaluation.evaluate import EvaluateArgs, evaluate
from clevrskills.evaluation.results import read_results
from clevrskills.jobs.pool import InlinePool
from clevrskills.serving import connect, gr00t
from clevrskills.serving.codecs import GR00T_N16, GR00T_N17, Codec, CodecError
from tests.serving.gr00t_server import CONFIG, actions, gr00t_server
from tests.serving.servers import observation, prompt, started
from tests.serving.test_codecs import DATA, assert_equal


@pytest.mark.parametrize("version", ["N1.6", "N1.7"])
def test_an_episode(version: str) -> None:
    with gr00t_server(version) as server:
        policy = PolicySource(server.url).make().policy
        assert policy.observation == ObservationOptions(
            ("base_camera", "hand_camera"), prompt="language"
        )
        for episode in range(2):
            policy.reset(prompt())
            assert server.resets == episode + 1
            for step in range(2):
                shown = observation(step)
                found = policy.act(shown)
                whole = np.linspace(-1, 1, 21, dtype=np.float32).reshape(3, 7)
                np.testing.assert_array_equal(found, whole)
                seen, proprio = server.observations[-1], shown["proprioception"]
                for name, image in shown["images"].items():
                    np.testing.assert_array_equal(seen["video"][name], image[None, None])
                state = seen["state"]
                np.testing.assert_array_equal(state["joint_position"][0, 0], proprio["qpos"])
                rotation = state["end_effector_rotation"][0, 0]
                np.testing.assert_array_equal(rotation, proprio["ee_pose"][3:])
                np.testing.assert_array_equal(state["holding"][0, 0], proprio["holding"])
                language = {"annotation.human.task_description": [[shown["prompt"]]]}
                assert seen["language"] == language
        policy.close()


def test_a_model_with_history() -> None:
    config = {**CONFIG, "video": (["hand_camera"], [-3, -1, 0]), "state": (["holding"], [0])}
    with gr00t_server(config=config) as server:
        policy = connect(server.url)
        assert policy.observation == ObservationOptions(
            ("hand_camera",), history=4, prompt="language"
        )
        policy.reset(prompt())
        shown = observation(history=4)
        frames = np.arange(4 * 48, dtype=np.uint8).reshape(4, 4, 4, 3)
        policy.act({**shown, "images": {"hand_camera": frames}})
        seen = server.observations[0]
        np.testing.assert_array_equal(seen["video"]["hand_camera"][0], frames[[0, 2, 3]])
        expected = shown["proprioception"]["holding"][3:]
        np.testing.assert_array_equal(seen["state"]["holding"][0], expected)
        with pytest.raises(ClevrSkillsError, match="3 control steps back; set --history 4"):
            policy.act(observation(history=2))


def test_a_model_with_names_of_its_own() -> None:
    config = {
        "video": (["front"], [0]),
        "action": (["xyz", "end_effector_rotation_delta", "grip"], [0]),
        "language": (["task"], [0]),
    }
    rename = {"base_camera": "front", "end_effector_position_delta": "xyz", "gripper": "grip"}

    def act(shown: Any) -> dict[str, np.ndarray]:
        return {rename.get(name, name): part for name, part in actions(1).items()}

    with gr00t_server("N1.7", config={"state": ([], [0]), **config}, act=act) as server:
        with pytest.raises(ClevrSkillsError, match="its video has 'front'; known: base_camera, "):
            connect(server.url)
        policy = connect(server.url, rename=rename)
        assert policy.observation is not None and not policy.observation.proprioception
        policy.reset(prompt())
        assert policy.act(observation()).shape == (1, 7)
        images = server.observations[0]["video"]
        np.testing.assert_array_equal(images["front"][0, 0], observation()["images"]["base_camera"])
        with pytest.raises(
            ClevrSkillsError, match="unknown name in rename 'elbow'; allowed: base_"
        ):
            connect(server.url, rename={"elbow": "x"})


CONFIGS: dict[str, tuple[dict[str, Any], str]] = {
    "action": ({"action": (["gripper"], [0])}, "its actions have no end_effector_position_delta, "),
    "other action": ({"action": (["arm"], [0])}, "its action has 'arm'; known: end_effector_po"),
    "state": ({"state": (["left_arm"], [0])}, "its state has 'left_arm'; known: joint_position"),
    "no times": ({"state": (["holding"], [])}, "uses another dialect: its state is not a modal"),
    "nothing": (dict.fromkeys(CONFIG, ([], [0])), "its actions have no end_effector_position_de"),
    "future": ({"video": (["base_camera"], [0, 1])}, "uses another dialect: it looks ahead"),
}


@pytest.mark.parametrize("kind", CONFIGS)
def test_models_that_cannot_act_here(kind: str) -> None:
    config, said = CONFIGS[kind]
    with gr00t_server(config={**CONFIG, **config}) as server:
        with pytest.raises(ClevrSkillsError, match=f"^{server.url}: {re.escape(said)}"):
            connect(server.url)


ANSWERS: dict[str, tuple[Any, str]] = {
    "few": ({"gripper": np.zeros((1, 2, 1))}, "its end_effector_position_delta is of shape (); "),
    "wide": ({**actions(), "gripper": np.zeros((1, 3, 2))}, "is of shape (1, 3, 2); allowed: (1,"),
    "two": ({**actions(), "gripper": np.zeros((2, 3, 1))}, "is of shape (2, 3, 1); allowed: (1,"),
    "lengths": ({**actions(), "gripper": np.zeros((1, 2, 1))}, "of different lengths: [3, 3, 2]"),
    "nan": ({**actions(), "gripper": np.full((1, 3, 1), np.nan)}, "entry 6 of an action is nan"),
    "words": (b"\xa2no", "the answer has no actions: str 'no'"),
    "garbage": (b"\xc1", "1 bytes are not a message"),
    "old": (b"ERROR", "5 bytes are not a message"),
    "objects": (msgpack.packb([{b"nd": True, b"type": "|O", b"shape": [1], b"data": b"x"}]), "num"),
}


@pytest.mark.parametrize("kind", ANSWERS)
def test_answers_that_are_no_actions(kind: str) -> None:
    answer, said = ANSWERS[kind]
    with gr00t_server(act=lambda _: answer) as server:
        policy = started(server.url)
        with pytest.raises(PolicyError, match=f"^{server.url}: .*{re.escape(said)}"):
            policy.act(observation())
        with pytest.raises(PolicyError, match="reset reopens it"):
            policy.act(observation())
        policy.reset(prompt())  # the connection is opened again


def test_a_server_that_fails_or_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(shown: Any) -> Any:
        raise ValueError("CUDA\nout of memory")

    with gr00t_server(act=fail) as server:
        policy = started(server.url)
        with pytest.raises(PolicyError, match=f"^{server.url}: the server failed: out of memory$"):
            policy.act(observation())
    monkeypatch.setenv("KEY", "token")
    with gr00t_server(token="token") as server:
        with pytest.raises(PolicyError, match="the server failed: Unauthorized: Invalid API token"):
            connect(server.url)
        connect(server.url, api_key_env="KEY").close()
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"gr00t://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(PolicyError, match=rf"^{url}: no answer within 0\.2 s$"):
            connect(url, timeout_s=0.2)
    with pytest.raises(PolicyError, match=f"^{url}: connection refused; is the server running?"):
        connect(url)


@pytest.mark.parametrize("codec", [GR00T_N16, GR00T_N17])
def test_messages(codec: Codec) -> None:
    found = GR00T_N17.unpack(codec.pack(DATA))
    assert_equal(found, {**DATA, "big-endian": found["big-endian"]})
    np.testing.assert_array_equal(found["big-endian"], DATA["big-endian"])
    for thing in (object(), np.array([object()]), np.complex64(1)):
        with pytest.raises(CodecError):
            codec.pack({"a": thing})


def test_names_are_those_of_exports(demos: Path) -> None:
    """So that a model trained on an export is known without renaming."""
    names = modality(Dataset(demos)[0])
    assert [*gr00t.states()] == [*names["state"]]
    sizes = {name: part["end"] - part["start"] for name, part in names["action"].items()}
    assert gr00t.actions() == sizes


def test_evaluation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clevrskills.jobs.work.open_pool", lambda _, make, *rest: InlinePool(make))
    config = {**CONFIG, "video": ([], [0]), "state": ([], [0])}
    with gr00t_server("N1.7", config=config) as server:
        args = EvaluateArgs(policy=server.url, tasks=("reach",), episodes=2, out=tmp_path)
        assert evaluate(args, FakeSuite()) == 0
        assert server.resets == len([*read_results(tmp_path)]) == 4
