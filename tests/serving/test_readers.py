"""Our servers, clients and codecs beside the software whose dialects they talk, in an environment
that scripts/setup_clients.sh makes; all on this machine.
"""

import contextlib
import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from clevrskills.baselines import checkpoint
from clevrskills.baselines.registry import build, configuration
from clevrskills.baselines.spec import PolicySpec
from clevrskills.core.policy import Observation, ObservationOptions, PolicyError
from clevrskills.core.policy_loader import PolicySource
from clevrskills.dataset_tools.export.statistics import Numbers, as_lists
from clevrskills.errors import ClevrSkillsError
from clevrskills.serving import connect
from clevrskills.serving.codecs import OPENPI, VLA_EVAL
from clevrskills.serving.message_fields import state_vector
from clevrskills.serving.vla_eval import sealed
from clevrskills.sim.state_vector import state_parts
from tests.serving.policies import Asking, Recorder, actions
from tests.serving.servers import observation, prompt, served, serving_source, started
from tests.serving.test_codecs import DATA, assert_equal

ROOT = Path(__file__).parents[2]
CLIENTS = ROOT / ".venv-clients"
SCRIPTS = Path(__file__).parent / "readers"
pytestmark = [
    pytest.mark.readers,
    pytest.mark.slow,
    pytest.mark.skipif(not CLIENTS.is_dir(), reason="make it with scripts/setup_clients.sh"),
]


@pytest.fixture(autouse=True)
def _forget() -> None:
    Recorder.made.clear()


def command(package: str, script: str, *arguments: object) -> dict[str, Any]:
    """How to run a script with one of the packages."""
    return {
        "args": [CLIENTS / "bin/python", SCRIPTS / script, *map(str, arguments)],
        "env": {**os.environ, "PYTHONPATH": str(CLIENTS / package)},
        "text": True,
    }


def run(package: str, script: str, *arguments: object) -> None:
    done = subprocess.run(**command(package, script, *arguments), capture_output=True)
    assert done.returncode == 0, done.stderr[-3000:]


@contextlib.contextmanager
def running(package: str, script: str, *arguments: object) -> Iterator[str]:
    """A server in another process; the line that it prints."""
    options = command(package, script, *arguments)
    options |= {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(**options) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


def digest(shown: Observation, pictures: int, starts: bool) -> list[float]:
    """What the servers say of an observation."""
    cameras = [image.mean() / 255 for image in shown["images"].values()]
    state = state_vector(shown)
    assert state is not None
    return [*cameras, state[0] / 10, state[-1] / 10, pictures / 10, starts, shown["step"] / 10]


# --- codecs


def test_openpi_messages_are_the_same_bytes(tmp_path: Path) -> None:
    numbers = {"a": np.float32(0.5), "b": np.int64(3), "c": np.bool_(True)}
    message = OPENPI.pack({**DATA, "numbers": numbers, "shape": (1, 2)})
    (tmp_path / "in").write_bytes(message)
    run("openpi", "codec_openpi.py", tmp_path / "in", tmp_path / "out")
    assert (tmp_path / "out").read_bytes() == message


def test_vla_eval_messages_are_the_same_bytes(tmp_path: Path) -> None:
    message = sealed("observation", DATA, 7)
    (tmp_path / "in").write_bytes(message)
    run("vla-eval", "codec_vla_eval.py", "raw", tmp_path / "in", tmp_path / "out")
    assert (tmp_path / "out").read_bytes() == message


def test_images_of_vla_eval(tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(sealed("observation", DATA, 7))
    run("vla-eval", "codec_vla_eval.py", "png", tmp_path / "in", tmp_path / "out")
    assert b"__image__" in (tmp_path / "out").read_bytes()
    assert_equal(VLA_EVAL.unpack((tmp_path / "out").read_bytes())["payload"], DATA)


# --- openpi


def test_the_client_of_openpi_with_our_server(tmp_path: Path) -> None:
    with served("Asking", "openpi", unchecked=True) as url:
        host, port = url.removeprefix("openpi://").split(":")
        run("openpi", "drive_openpi.py", host, port, tmp_path / "out.json")
    found = json.loads((tmp_path / "out.json").read_text())
    assert found["metadata"]["action_spec"] == Asking.action_spec
    assert found["metadata"]["observation_options"]["history"] == 2
    assert "the prompt is of type int, not text" in found["error"]
    # two of three actions of each chunk; it does not say so, so the server thinks of all three
    expected = [*actions(0)[:2], actions(3)[0]] * 2
    np.testing.assert_allclose(found["actions"], expected)
    (recorder,) = Recorder.made
    assert [p.text for p in recorder.prompts] == ["push it", "pick it"]
    steps = (0, 2, 0, 2)  # those at which a chunk was asked for
    for step, shown in zip(steps, recorder.observations, strict=True):
        (image,) = shown["images"].values()
        np.testing.assert_array_equal(image, np.full((4, 4, 3), 10 * step, np.uint8))
        np.testing.assert_array_equal(shown["proprioception"]["state"], np.arange(5) + step)


@pytest.fixture
def learned(tmp_path: Path) -> Path:
    """A checkpoint of a new, tiny network that is shown the robot's state and images of 32 px."""
    parts = {name: part.size for name, part in state_parts().items()}
    state, action = Numbers(), Numbers()
    state.add(np.random.default_rng(0).normal(size=(8, sum(parts.values()))))
    action.add(np.random.default_rng(1).normal(size=(8, 7)))
    config = configuration("bc", "tiny", {})
    options = ObservationOptions(config.cameras, size_px=32, prompt="language")
    statistics = as_lists({"state": state.total(), "action": action.total()})
    spec = PolicySpec(options, parts, statistics)
    policy = build("bc", config, spec, seed=0)
    policy.start()
    folder = tmp_path / "checkpoint"
    folder.mkdir()
    checkpoint.write(folder, policy, checkpoint.CheckpointDescription("bc", config, spec, {}))
    return folder


def test_the_client_of_openpi_with_a_checkpoint(learned: Path, tmp_path: Path) -> None:
    """By the keys of openpi alone: the state is taken apart, and one of another size refused."""
    with serving_source(PolicySource(f"checkpoint:{learned}"), "openpi") as url:
        host, port = url.removeprefix("openpi://").split(":")
        run("openpi", "stock_openpi.py", host, port, 32, tmp_path / "out.json")
    found = json.loads((tmp_path / "out.json").read_text())
    assert found["15"].endswith(", 7)")
    assert "the state has the shape (9,); allowed: qpos, ee_pose" in found["9"]


def test_our_client_with_a_server_of_openpi() -> None:
    with running("openpi", "serve_openpi.py") as port:
        policy = connect(f"openpi://127.0.0.1:{port}")
        assert policy.action_spec is None
        assert policy.observation is None
        for _ in range(2):
            policy.reset(prompt())
            for step in range(2):
                shown = observation(step)
                answer = policy.act(shown)
                pictures = 0 if step else 2
                np.testing.assert_allclose(answer[0], digest(shown, pictures, step == 0), atol=1e-6)
                np.testing.assert_array_equal(answer[1], np.ones(7))
        with pytest.raises(PolicyError, match="the server failed: KeyError: 'wrist'"):
            policy.act({**observation(2), "prompt": "fail"})
        policy.reset(prompt())
        assert policy.act(observation()).shape == (2, 7)
        policy.close()


# --- vla-eval


@pytest.mark.parametrize("form", ["raw", "png", "jpeg"])
def test_the_client_of_vla_eval_with_our_server(tmp_path: Path, form: str) -> None:
    with served("Asking", "vla-eval", unchecked=True) as url:
        address = url.replace("vla-eval://", "ws://")
        run("vla-eval", "drive_vla_eval.py", address, form, tmp_path / "out.json")
    found = json.loads((tmp_path / "out.json").read_text())
    assert found["mismatches"] == []
    assert found["info"]["model_server"].endswith("Asking")
    assert "the prompt is of type int, not text" in found["error"]
    assert found["info"]["observation_params"] == {
        "cameras": ["base_camera", "hand_camera"],
        "send_state": True,
        "prompt": "multimodal",
        "size_px": 32,
        "history": 2,
    }
    # it makes one action of a chunk after the other, and the policy is asked again after them
    expected = [*actions(0), actions(3)[0]] * 2
    np.testing.assert_allclose(found["actions"], expected)
    (recorder,) = Recorder.made
    assert [p.text for p in recorder.prompts] == ["push it", "push it"]
    for step, shown in zip((0, 3, 0, 3), recorder.observations, strict=True):
        (image,) = shown["images"].values()
        np.testing.assert_array_equal(image, np.full((4, 4, 3), 10 * step, np.uint8))
        np.testing.assert_array_equal(shown["proprioception"]["state"], np.arange(5) + step)


@pytest.mark.parametrize("compress", ["none", "png", "jpeg"])
def test_our_client_with_a_server_of_vla_eval(compress: str) -> None:
    with running("vla-eval", "serve_vla_eval.py", "axis_angle") as address:
        policy = connect(address.replace("ws://", "vla-eval://"), compress=compress)
        for _ in range(2):
            policy.reset(prompt())
            for step in range(2):
                shown = observation(step)
                answer = policy.act(shown)
                pictures = 0 if step else 2
                near = 2e-3 if compress == "jpeg" else 1e-6
                np.testing.assert_allclose(answer[0], digest(shown, pictures, step == 0), atol=near)
        with pytest.raises(PolicyError, match="the server failed: observation_failed: KeyError"):
            policy.act({**observation(2), "prompt": "fail"})
        policy.reset(prompt())
        assert policy.act(observation()).shape == (2, 7)
        policy.close()


@pytest.mark.parametrize("compress", ["none", "png"])
def test_a_history_with_a_server_of_vla_eval(compress: str) -> None:
    """Compressed, it comes as a list."""
    with running("vla-eval", "serve_vla_eval.py", "axis_angle") as address:
        policy = started(address.replace("ws://", "vla-eval://"), compress=compress)
        images = observation(history=3)["images"]
        answer = policy.act({**observation(), "images": images})
        assert answer[0, 0] == pytest.approx(images["base_camera"].mean() / 255)
        policy.close()


def test_a_model_of_vla_eval_with_other_actions_is_refused() -> None:
    with running("vla-eval", "serve_vla_eval.py", "euler") as address:
        with pytest.raises(ClevrSkillsError, match="a rotation of 3 x euler_xyz; allowed: 3 x"):
            connect(address.replace("ws://", "vla-eval://"))


def test_our_greeting_is_read_by_openpi(tmp_path: Path) -> None:
    """Metadata with tuples and nothing at all survive."""
    metadata = {"cameras": ("a", "b"), "size_px": None, "spec": {"shape": [7]}}
    (tmp_path / "in").write_bytes(OPENPI.pack(metadata))
    run("openpi", "codec_openpi.py", tmp_path / "in", tmp_path / "out")
    expected = {"cameras": ["a", "b"], "size_px": None, "spec": {"shape": [7]}}
    assert OPENPI.unpack((tmp_path / "out").read_bytes()) == expected
