"""Our client and our server, in both dialects."""

import json
import re
import socket
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect as raw_connect
from websockets.sync.server import ServerConnection
from websockets.typing import Origin

from clevrskills.core.episode import RecordedName
from clevrskills.core.policy import GaveUp, Observation, PolicyError
from clevrskills.core.policy_loader import PolicySource
from clevrskills.errors import ClevrSkillsError
from clevrskills.evaluation.policies import BLIND
from clevrskills.serving import DIALECTS, connect
from clevrskills.serving.codecs import OPENPI
from clevrskills.serving.connection import WebSocketWire
from clevrskills.serving.server import HEALTH
from clevrskills.serving.vla_eval import opened, sealed
from clevrskills.sim.robots.delta_action import ACTION_SPEC
from tests.serving.policies import HERE, Asking, Recorder, Together, actions
from tests.serving.servers import observation, prompt, scripted, served, serving_source, started
from tests.serving.test_codecs import assert_equal


@pytest.fixture(params=DIALECTS)
def dialect(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(autouse=True)
def _forget() -> Iterator[None]:
    Recorder.made.clear()
    Together.made.clear()
    yield


@pytest.mark.parametrize("compress", ["none", "png"])
@pytest.mark.parametrize("history", [1, 3])
def test_observations_equal_those_in_process(dialect: str, compress: str, history: int) -> None:
    shown = [observation(step, history) for step in (0, 3)]
    with served("Recorder", dialect) as url:
        policy = started(url, compress=compress)
        answers = [policy.act(one) for one in shown]
        policy.close()
    (recorder,) = Recorder.made
    for found, expected in zip(recorder.observations, shown, strict=True):
        assert_equal(found, expected)
    ((asked,), given) = recorder.prompts, prompt()
    assert (asked.text, asked.seed) == (given.text, given.seed)
    assert_equal(asked.images, given.images)
    for answer, step in zip(answers, (0, 3), strict=True):
        assert answer.dtype == np.float32
        np.testing.assert_array_equal(answer, actions(step))


def test_jpeg_is_nearly_the_same(dialect: str) -> None:
    shown = observation()
    with served("Recorder", dialect) as url:
        policy = started(url, compress="jpeg")
        policy.act(shown)
    for name, image in Recorder.made[0].observations[0]["images"].items():
        difference = image.astype(int) - shown["images"][name]
        assert np.abs(difference).max() <= 3


def test_nothing_is_shown_but_words(dialect: str, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = {"images": {}, "proprioception": {}, "prompt": "push", "step": 0}
    sent, send = list[bytes](), WebSocketWire.send
    monkeypatch.setattr(WebSocketWire, "send", lambda wire, m: (sent.append(m), send(wire, m)))
    with served("Recorder", dialect) as url:
        policy = connect(url)
        policy.reset(prompt(), episode=RecordedName("pick", "test", 95001))
        policy.act(shown)
    assert not any(b"95001" in message for message in sent)
    assert_equal(Recorder.made[0].observations[0], shown)


@pytest.mark.parametrize(("choice", "counts"), [("first", [2, 0]), ("always", [2, 2])])
def test_images_of_the_prompt_are_sent_on_request(
    monkeypatch: pytest.MonkeyPatch, dialect: str, choice: str, counts: list[int]
) -> None:
    from clevrskills.serving import openpi, vla_eval

    found: list[int] = []

    def read(*values: object) -> object:
        result = original(*values)
        found.append(len(result[1].images))
        return result

    original = openpi.read
    for module in (openpi, vla_eval):
        monkeypatch.setattr(module, "read", read)
    with served("Recorder", dialect) as url:
        policy = connect(url, prompt_images=choice)
        for _ in range(2):
            policy.reset(prompt())
            for step in range(2):
                policy.act(observation(step))
    assert found == counts * 2
    assert [len(p.images) for p in Recorder.made[0].prompts] == [2, 2]


TWO = ("base_camera", "hand_camera")


def chw(shown: Observation) -> Observation:
    return {**shown, "images": {n: i.transpose(2, 0, 1) for n, i in shown["images"].items()}}


def floats(shown: Observation) -> Observation:
    return {**shown, "images": {n: i / np.float32(255) for n, i in shown["images"].items()}}


NOT_AS_ASKED: dict[str, tuple[dict[str, Any], Observation, str]] = {
    "size": ({}, observation(size_px=64), "(64, 64, 3) uint8; the policy takes (32, 32, 3) uint8"),
    "layout": ({}, chw(observation()), "(3, 32, 32) uint8; the policy takes (32, 32, 3) uint8"),
    "numbers": ({}, floats(observation()), "(32, 32, 3) float32; the policy takes (32, 32, 3)"),
    "history": ({"history": 2}, observation(), "takes (2, 32, 32, 3) uint8"),
    "no history": ({}, observation(history=2), "is (2, 32, 32, 3) uint8; the policy takes (32,"),
    "any size": ({"size_px": None}, chw(observation()), "the policy takes (H, W, 3) uint8"),
    "camera": (
        {"cameras": (*TWO, "render_camera")},
        observation(),
        "no image of render_camera, which the policy requires; sent: base_camera, hand_camera",
    ),
    "no images": ({}, {**observation(), "images": {}}, "no image of base_camera, "),
    "state": ({}, {**observation(), "proprioception": {}}, "no state of the robot, which"),
    "numbers of the state": (
        {},
        {**observation(), "proprioception": {"state": np.zeros(9, np.float32)}},
        "the state has the shape (9,); allowed: qpos, ee_pose, vacuum_on, holding, numb",
    ),
}


@pytest.mark.parametrize("fault", NOT_AS_ASKED)
def test_a_client_must_send_the_requested_observation(dialect: str, fault: str) -> None:
    asked, shown, said = NOT_AS_ASKED[fault]
    options = {"cameras": TWO, "size_px": 32, **asked}
    with served("Choosy", dialect, **options) as url:
        policy = started(url)
        with pytest.raises(PolicyError, match=f"^{url}: the server failed: .*{re.escape(said)}"):
            policy.act(shown)
    assert not Recorder.made[0].observations
    with served("Choosy", dialect, unchecked=True, **options) as url:
        policy = started(url)
        policy.act(shown)
    assert_equal(Recorder.made[-1].observations[0], shown)


@pytest.mark.parametrize(("size", "joints"), [(15, 6), (16, 7)])
def test_a_state_without_names_is_taken_apart(dialect: str, size: int, joints: int) -> None:
    state = np.arange(size, dtype=np.float32)
    with served("Choosy", dialect, cameras=TWO) as url:
        policy = started(url)
        policy.act({**observation(), "proprioception": {"state": state}})
    shown = Recorder.made[0].observations[0]["proprioception"]
    assert [*shown] == ["qpos", "ee_pose", "vacuum_on", "holding"]
    assert shown["qpos"].shape == (joints,)
    np.testing.assert_array_equal(np.concatenate([*shown.values()]), state)


def test_policies_get_no_more_than_they_request(dialect: str) -> None:
    shown = observation()
    with served("Choosy", dialect, cameras=["hand_camera"], proprioception=False) as url:
        policy = started(url)
        policy.act(shown)
    images = {"hand_camera": shown["images"]["hand_camera"]}
    seen = {**shown, "images": images, "proprioception": {}}
    assert_equal(Recorder.made[0].observations[0], seen)


def test_whoever_asks_for_nothing_gets_images_none_the_less(dialect: str) -> None:
    with served("Recorder", dialect) as url:
        policy = started(url)
        with pytest.raises(
            PolicyError, match=r"is \(3, 32, 32\) uint8; the policy takes \(H, W, 3"
        ):
            policy.act(chw(observation()))


def test_a_client_that_sends_no_step(dialect: str) -> None:
    """It has made all actions that it was given."""
    shown = {"prompt": "go", "task_description": "go", "observation/state": np.zeros(3)}
    with served("Recorder", dialect) as url:
        with raw_connect(url.replace(dialect, "ws"), proxy=None) as connection:
            if dialect == "openpi":
                connection.recv()
            for number in range(4):  # of chunks of three, which vla-eval's own client gets in parts
                message = OPENPI.pack(shown) if dialect == "openpi" else b""
                connection.send(message or sealed("observation", shown, number))
                connection.recv()
    steps = [seen["step"] for seen in Recorder.made[0].observations]
    assert steps == ([0, 3, 6, 9] if dialect == "openpi" else [0, 3])


def test_an_api_key(
    dialect: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(0)
    monkeypatch.setenv("RIGHT", "s3cret-key ")
    monkeypatch.setenv("WRONG", "s3cret-kez")
    source = PolicySource(f"{HERE}:One")
    with serving_source(source, dialect, key="s3cret-key") as url:
        for arguments, said in (
            ({}, "it requires an API key: give its variable"),
            ({"api_key_env": "WRONG"}, "it refuses this API key"),
        ):
            with pytest.raises(PolicyError, match=f"^{url}: {said}"):
                connect(url, **arguments)
        policy = PolicySource(url, {"api_key_env": "RIGHT"}).make()
        policy.reset(prompt())
        assert policy.act(observation()).size == 7
        with urllib.request.urlopen(url.replace(dialect, "http") + HEALTH[dialect]) as answer:
            assert answer.status == 200
    assert "s3cret" not in caplog.text
    for name, value, said in (
        ("NONE", "", "there is no API key in the variable NONE"),
        ("ODD", "clé", "what ODD holds is not printable ASCII"),
    ):
        monkeypatch.setenv(name, value)
        with pytest.raises(ClevrSkillsError, match=f"^api_key_env: {said}"):
            connect(url, api_key_env=name)


def test_web_pages_cannot_connect(dialect: str) -> None:
    with served("One", dialect) as url:
        address, page = url.replace(dialect, "ws"), Origin("https://example.org")
        with pytest.raises(InvalidStatus, match="403"), raw_connect(address, origin=page):
            pass
        with raw_connect(address):
            pass


def test_names_of_another_openpi_server() -> None:
    rename = {"base_camera": "image", "observation/hand_camera": "wrist", "prompt": "instruction"}
    got: list[Any] = []

    def remember(connection: ServerConnection) -> None:
        connection.send(OPENPI.pack({}))
        got.append(OPENPI.unpack(connection.recv()))
        connection.send(OPENPI.pack({"actions": np.zeros(7)}))

    shown = observation()
    with scripted("openpi", remember) as url:
        policy = PolicySource(url, {"rename": rename}).make()
        policy.reset(prompt())
        policy.act(shown)
    (message,) = got
    for ours, theirs in (("base_camera", "observation/image"), ("hand_camera", "wrist")):
        np.testing.assert_array_equal(message[theirs], shown["images"][ours])
    assert message["instruction"] == prompt().text
    assert "observation/state" in message
    assert not {"observation/base_camera", "observation/hand_camera", "prompt"} & message.keys()


@pytest.mark.parametrize(
    ("rename", "said"),
    [
        ({"front": "image"}, "unknown name in rename 'front'; allowed: base_camera"),
        ({"base_camera": 3}, "rename={'base_camera': 3}; allowed: a JSON object of new names"),
        ("image", "rename='image'; allowed: a JSON object of new names"),
        ({"base_camera": "x", "hand_camera": "x"}, "two keys would be called 'observation/x'"),
    ],
)
def test_renaming_that_cannot_be_done(rename: Any, said: str) -> None:
    with served("One", "openpi") as url:
        with pytest.raises(ClevrSkillsError, match=re.escape(said)):
            policy = started(url, rename=rename)
            policy.act(observation())


def test_the_same_prompt_twice_is_two_episodes(dialect: str) -> None:
    with served("Recorder", dialect) as url:
        policy = connect(url)
        for seed in (1, 1, 2):
            policy.reset(prompt(seed))
            policy.act(observation())
            policy.act(observation(1))
    assert [p.seed for p in Recorder.made[0].prompts] == [1, 1, 2]


def test_one_action_and_the_numbers_of_a_policy_that_draws(dialect: str) -> None:
    local = PolicySource("random").make()
    with serving_source(PolicySource("random"), dialect) as url:
        remote = connect(url)
        assert remote.observation == BLIND
        for seed in (3, 4):
            for policy in (local, remote):
                policy.reset(prompt(seed))
            for step in range(2):
                expected = local.act(observation(step))
                np.testing.assert_array_equal(remote.act(observation(step)).ravel(), expected)


def test_a_policy_is_loaded_as_any_other_and_declares_its_observation(dialect: str) -> None:
    with served("Asking", dialect, height=1) as url:
        policy = PolicySource(url, {"timeout_s": 30, "compress": "jpeg"}).make()
        assert policy.options == policy.info.observation == Asking.observation
        if dialect == "openpi":
            assert policy.info.action_spec == ACTION_SPEC
        policy.reset(prompt())
        np.testing.assert_array_equal(policy.act(observation(history=2)), actions(0, 1))


def test_one_dialect_behind_the_other() -> None:
    with served("One", "vla-eval") as inner, serving_source(PolicySource(inner), "openpi") as url:
        policy = connect(url)
        policy.reset(prompt(9))
        expected = np.random.default_rng((9, 2)).uniform(-1, 1, 7).astype(np.float32)
        np.testing.assert_array_equal(policy.act(observation(2)).ravel(), expected)


def test_each_client_has_its_own_policy_and_the_next_takes_over(dialect: str) -> None:
    with served("Recorder", dialect) as url:
        first, second = connect(url), connect(url)
        for seed, policy in enumerate((first, second)):
            policy.reset(prompt(seed))
            policy.act(observation())
        assert [[p.seed for p in made.prompts] for made in Recorder.made] == [[0], [1]]
        first.close()
        third = connect(url)
        third.reset(prompt(2))
        third.act(observation())
        assert len(Recorder.made) == 2


def test_a_batched_policy_acts_for_all_who_wait(dialect: str) -> None:
    with served("Together", dialect, wait_s=30.0) as url, ThreadPoolExecutor(3) as pool:
        clients = [connect(url) for _ in range(3)]
        for seed, policy in enumerate(clients):
            policy.reset(prompt(seed))
        for step in range(2):
            answers = list(pool.map(lambda p: p.act(observation(step)), clients))  # noqa: B023
            assert [float(a.ravel()[0]) for a in answers] == pytest.approx([0, 0.01, 0.02])
        clients.pop().close()
        answers = list(pool.map(lambda p: p.act(observation(2)), clients))
        assert [float(a.ravel()[0]) for a in answers] == pytest.approx([0, 0.01])
    (policy,) = Together.made
    assert policy.sizes == [3, 3, 2]


def test_one_process_asks_for_several_before_they_answer(dialect: str) -> None:
    with served("Together", dialect, wait_s=30.0) as url:
        clients = [connect(url) for _ in range(2)]
        for seed, policy in enumerate(clients):
            policy.reset(prompt(seed))
        for policy in clients:
            policy.ask(observation())
        answers = [float(policy.answer().ravel()[0]) for policy in clients]
    assert answers == pytest.approx([0, 0.01])
    assert Together.made[0].sizes == [2]


def test_a_policy_that_is_dropped_leaves_its_place(dialect: str) -> None:
    with served("Recorder", dialect) as url:
        for seed in range(3):
            policy = connect(url)
            policy.reset(prompt(seed))
            policy.act(observation())
            del policy
        assert len(Recorder.made) == 1


def test_a_batched_policy_does_not_wait_forever(dialect: str) -> None:
    with served("Together", dialect, wait_s=0.01) as url:
        client, _idle = connect(url), connect(url)
        client.reset(prompt(7))
        assert client.act(observation()).ravel()[0] == pytest.approx(0.07)
    assert Together.made[0].sizes == [1]


def test_a_batched_policy_that_omits_an_episode(dialect: str) -> None:
    with served("Forgetful", dialect) as url:
        client = connect(url)
        client.reset(prompt())
        with pytest.raises(PolicyError, match=r"no actions for the slots \[0\]"):
            client.act(observation())


FAULTS = {
    "raises": "ValueError: shapes do not fit",
    "ends": "RuntimeError: the policy has come to its end",
    "nan": "entry 3 of an action is nan",
    "size": r"shape \(8,\); allowed: \(7,\) or \(H, 7\)",
    "none": "no action: the policy returned None",
    "empty": "no action",
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_policy_that_breaks_down_is_an_error_of_one_line(dialect: str, fault: str) -> None:
    with served("Faulty", dialect, fault=fault) as url:
        policy = connect(url)
        for _ in range(2):  # and the next episode may begin
            policy.reset(prompt())
            policy.act(observation(0))
            with pytest.raises(PolicyError, match=FAULTS[fault]) as caught:
                policy.act(observation(1))
            assert str(caught.value).startswith(f"{url}: the server failed: ")
            assert "\n" not in str(caught.value)
            with pytest.raises(PolicyError, match="reset reopens it"):
                policy.act(observation(1))


def test_a_policy_that_cannot_begin(dialect: str) -> None:
    with served("Faulty", dialect, fault="reset") as url:
        policy = started(url)
        with pytest.raises(PolicyError, match="RuntimeError: no weights"):
            policy.act(observation())


def test_a_policy_that_gives_up_has_failed_at_the_task(dialect: str) -> None:
    with served("Faulty", dialect, fault="gives up") as url:
        policy = connect(url)
        for _ in range(2):
            policy.reset(prompt())
            policy.act(observation(0))
            with pytest.raises(GaveUp, match=r"^out of reach$"):
                policy.act(observation(1))


def test_the_runner_decides_on_clipping(dialect: str) -> None:
    with served("Faulty", dialect, fault="wide") as url:
        policy = started(url)
        policy.act(observation(0))
        np.testing.assert_array_equal(policy.act(observation(1)).ravel(), np.full(7, 1.5))


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("oracle", "needs the environment itself"),
        (f"{HERE}:Privileged", "needs the environment itself"),
        (f"{HERE}:OtherActions", "rate_hz is 10"),
        (f"{HERE}:Nobody", "unknown attribute"),
    ],
)
def test_policies_that_are_not_served(dialect: str, name: str, said: str) -> None:
    with pytest.raises(ClevrSkillsError, match=re.escape(said)):
        with serving_source(PolicySource(name), dialect):
            pass


def test_health(dialect: str) -> None:
    with served("One", dialect) as url:
        address = url.replace(dialect, "http")
        with urllib.request.urlopen(address + HEALTH[dialect]) as answer:
            body, kind = answer.read(), answer.headers.get_all("Content-Type")
        if dialect == "openpi":
            assert (body, kind) == (b"OK\n", ["text/plain"])
        else:
            assert (json.loads(body), kind) == ({"status": "ok"}, ["application/json"])
        with pytest.raises(urllib.error.HTTPError):
            urllib.request.urlopen(address)


def test_a_server_that_ends_notifies_its_clients(dialect: str) -> None:
    answered = threading.Event()
    failures: list[PolicyError] = []

    def ask(url: str) -> None:
        policy = started(url)
        while not failures:
            try:
                policy.act(observation())
                answered.set()
            except PolicyError as error:
                failures.append(error)

    with served("One", dialect) as url:
        client = threading.Thread(target=ask, args=(url,))
        client.start()
        answered.wait()
    client.join()
    (error,) = failures
    assert str(error) == f"{url}: the server closed the connection (code 1001)"
    with pytest.raises(PolicyError, match="connection refused"):
        connect(url)


def test_a_port_that_is_taken(dialect: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ClevrSkillsError, match=f"cannot listen at 127.0.0.1:{port}: .* --port"):
            with serving_source(PolicySource("zero"), dialect, port=port):
                pass


@pytest.mark.parametrize("message", [b"\xc1", b"\x90", "hello", b"\x80", b"\xa1a"])
def test_malformed_messages_get_an_error(dialect: str, message: bytes | str) -> None:
    with served("One", dialect) as url:
        with raw_connect(url.replace(dialect, "ws"), proxy=None) as connection:
            if dialect == "openpi":
                connection.recv()
            connection.send(message)
            answer = connection.recv()
        if dialect == "openpi":
            if message != b"\x80":  # an empty observation is none the less one
                assert isinstance(answer, str)
        else:
            kind, payload, number = opened(answer)
            assert (kind, number) == ("error", 0)
            assert payload["error"].startswith("CodecError: ")
        policy = connect(url)  # and the others are served on
        policy.reset(prompt())
        assert policy.act(observation()).size == 7


def test_an_unknown_kind_of_message() -> None:
    with served("One", "vla-eval") as url:
        with raw_connect(url.replace("vla-eval", "ws"), proxy=None) as connection:
            for number, kind in enumerate(("pause", "hello")):
                connection.send(sealed(kind, {}, number))
                found, payload, echoed = opened(connection.recv())
                assert echoed == number
                if kind == "pause":
                    assert "unknown kind: 'pause'" in payload["error"]
            assert found == "hello"
