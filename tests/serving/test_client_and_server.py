"""Our client and our server, in both dialects."""

import json
import re
import socket
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from websockets.sync.client import connect as raw_connect

from clevrskills.core.policy import GaveUp, PolicyError
from clevrskills.core.policy_loader import PolicySource
from clevrskills.errors import ClevrSkillsError
from clevrskills.evaluation.policies import BLIND
from clevrskills.serving import DIALECTS, connect
from clevrskills.serving.server import HEALTH
from clevrskills.serving.vla_eval import opened, sealed
from clevrskills.sim.robots.delta_action import ACTION_SPEC
from tests.serving.policies import HERE, Recorder, Together, actions
from tests.serving.servers import observation, prompt, served, serving_source
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
def test_a_policy_sees_what_it_would_in_process(dialect: str, compress: str, history: int) -> None:
    shown = [observation(step, history) for step in (0, 3)]
    with served("Recorder", dialect) as url:
        policy = connect(url, compress=compress)
        policy.reset(prompt())
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
        policy = connect(url, compress="jpeg")
        policy.reset(prompt())
        policy.act(shown)
    for name, image in Recorder.made[0].observations[0]["images"].items():
        difference = image.astype(int) - shown["images"][name]
        assert np.abs(difference).max() <= 3


def test_nothing_is_shown_but_words(dialect: str) -> None:
    shown = {"images": {}, "proprioception": {}, "prompt": "push", "step": 0}
    with served("Recorder", dialect) as url:
        policy = connect(url)
        policy.reset(prompt())
        policy.act(shown)
    assert_equal(Recorder.made[0].observations[0], shown)


@pytest.mark.parametrize(("choice", "counts"), [("first", [2, 0]), ("always", [2, 2])])
def test_images_of_the_prompt_are_sent_when_asked_for(
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


def test_a_policy_is_loaded_as_any_other_and_says_what_it_wants(dialect: str) -> None:
    with served("Recorder", dialect, height=1) as url:
        source = PolicySource(url, {"timeout_s": 30, "compress": "jpeg"})
        policy = source.make()
        assert source.options(policy) == Recorder.observation
        if dialect == "openpi":
            assert policy.action_spec == ACTION_SPEC
        policy.reset(prompt())
        np.testing.assert_array_equal(policy.act(observation()), actions(0, 1))


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


def test_a_batched_policy_that_forgets_somebody(dialect: str) -> None:
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
    "none": r"an action of shape \(\)",
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
            with pytest.raises(PolicyError, match="reset begins anew"):
                policy.act(observation(1))


def test_a_policy_that_cannot_begin(dialect: str) -> None:
    with served("Faulty", dialect, fault="reset") as url:
        policy = connect(url)
        policy.reset(prompt())
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


def test_whether_to_clip_is_for_the_runner_to_say(dialect: str) -> None:
    with served("Faulty", dialect, fault="wide") as url:
        policy = connect(url)
        policy.reset(prompt())
        policy.act(observation(0))
        np.testing.assert_array_equal(policy.act(observation(1)).ravel(), np.full(7, 1.5))


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("oracle", "is given the environment itself"),
        (f"{HERE}:Privileged", "is given the environment itself"),
        (f"{HERE}:OtherActions", "rate_hz is 10"),
        (f"{HERE}:Nobody", "unknown attribute"),
    ],
)
def test_what_is_not_served(dialect: str, name: str, said: str) -> None:
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


def test_a_server_that_ends_says_so_to_its_clients(dialect: str) -> None:
    answered = threading.Event()
    failures: list[PolicyError] = []

    def ask(url: str) -> None:
        policy = connect(url)
        policy.reset(prompt())
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
def test_clients_that_talk_nonsense_are_told(dialect: str, message: bytes | str) -> None:
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
