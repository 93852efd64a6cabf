"""Servers that die, hang or send malformed messages: one line that names the server."""

import contextlib
import re
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from websockets.sync.server import ServerConnection

from clevrskills.core.policy import PolicyError
from clevrskills.errors import ClevrSkillsError
from clevrskills.serving import DIALECTS, connect
from clevrskills.serving.codecs import OPENPI
from clevrskills.serving.vla_eval import opened, sealed
from clevrskills.sim.robots.delta_action import ACTION_SPEC
from tests.serving.servers import observation, prompt, scripted, started

Reply = Callable[[ServerConnection, int], None]
SHORT_S = 0.4


@pytest.fixture(params=DIALECTS)
def dialect(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def script(dialect: str, *replies: Reply, **greeting: Any) -> Callable[[ServerConnection], None]:
    """A server that greets, then answers the observations in the given ways."""

    def openpi(connection: ServerConnection) -> None:
        connection.send(OPENPI.pack(greeting))
        for reply in replies:
            OPENPI.unpack(connection.recv())
            reply(connection, 0)
        for _ in connection:  # until the client leaves
            pass

    def vla_eval(connection: ServerConnection) -> None:
        left = list(replies)
        for message in connection:
            kind, _, number = opened(message)
            if kind == "hello":
                connection.send(sealed("hello", {"protocol_version": 1, **greeting}, number))
            elif kind == "observation" and left:
                left.pop(0)(connection, number)

    return {"openpi": openpi, "vla-eval": vla_eval}[dialect]


def answering(dialect: str, answer: Any) -> Reply:
    """Answers with data."""

    def reply(connection: ServerConnection, number: int) -> None:
        if dialect == "openpi":
            connection.send(OPENPI.pack(answer))
        else:
            connection.send(sealed("action", answer, number))

    return reply


def good(dialect: str) -> Reply:
    return answering(dialect, {"actions": np.zeros((2, 7), np.float32)})


def sending(message: bytes | str) -> Reply:
    return lambda connection, number: connection.send(message)


def dying(connection: ServerConnection, number: int) -> None:
    """As if its process were killed."""
    connection.socket.shutdown(socket.SHUT_RDWR)


def closing(connection: ServerConnection, number: int) -> None:
    connection.close(1011, "out of memory")


def silent(connection: ServerConnection, number: int) -> None:
    """Does not answer."""


def act_twice(policy: Any) -> None:
    policy.reset(prompt())
    policy.act(observation(0))
    policy.act(observation(1))


BROKEN: dict[str, tuple[Reply, str]] = {
    "killed": (dying, "the connection broke"),
    "closed": (closing, r"the server closed the connection \(code 1011, out of memory\)"),
    "hangs": (silent, f"no answer within {SHORT_S:g} s"),
    "garbage": (sending(b"\xc1\xc1"), "2 bytes are not a message"),
    "torn": (sending(OPENPI.pack({"actions": [0.0]})[:-3]), "16 bytes are not a message"),
}


@pytest.mark.parametrize("fault", BROKEN)
def test_a_server_that_breaks_down_in_an_episode(dialect: str, fault: str) -> None:
    reply, said = BROKEN[fault]
    scripts = [script(dialect, good(dialect), reply), script(dialect, *[good(dialect)] * 2)]
    with scripted(dialect, *scripts) as url:
        policy = connect(url, timeout_s=SHORT_S if fault == "hangs" else 30)
        with pytest.raises(PolicyError, match=f"^{url}: {said}") as caught:
            act_twice(policy)
        assert "\n" not in str(caught.value)
        with pytest.raises(PolicyError, match="reset reopens it"):
            policy.act(observation(2))
        act_twice(policy)  # the connection is opened again
        policy.close()


ANSWERS: dict[str, tuple[Any, str]] = {
    "none": ({}, "the answer has no actions: keys none"),
    "others": ({"acts": [0.0] * 7, "info": 1}, "the answer has no actions: keys acts, info"),
    "list": ([0.0] * 7, "the answer has no actions: list"),
    "wide": ({"actions": np.zeros(8)}, r"an action of shape \(8,\); allowed: \(7,\) or \(H, 7\)"),
    "deep": ({"actions": np.zeros((1, 2, 7))}, r"an action of shape \(1, 2, 7\)"),
    "empty": ({"actions": np.zeros((0, 7))}, "no action: the chunk is empty"),
    "nan": ({"actions": np.full((2, 7), np.nan)}, "entry 0 of an action is nan"),
    "infinite": ({"actions": [0, 0, 0, 0, 0, 0, float("inf")]}, "entry 6 of an action is inf"),
    "words": ({"actions": "left"}, "an action of type str"),
}


@pytest.mark.parametrize("kind", ANSWERS)
def test_answers_that_are_no_actions(dialect: str, kind: str) -> None:
    answer, said = ANSWERS[kind]
    with scripted(dialect, script(dialect, good(dialect), answering(dialect, answer))) as url:
        policy = connect(url)
        with pytest.raises(PolicyError, match=f"^{url}: {said}"):
            act_twice(policy)
        policy.close()


def test_actions_in_plain_lists(dialect: str) -> None:
    answer = answering(dialect, {"actions": [[0, 0.5, 0, 0, 0, 0, 1]]})
    with scripted(dialect, script(dialect, answer)) as url:
        policy = started(url)
        assert policy.act(observation()).tolist() == [[0, 0.5, 0, 0, 0, 0, 1]]
        policy.close()


def test_error_of_a_failed_openpi_server() -> None:
    text = "Traceback (most recent call last):\n  File ...\nValueError: no such key\n"
    with scripted("openpi", script("openpi", sending(text))) as url:
        policy = started(url)
        with pytest.raises(PolicyError, match="the server failed: ValueError: no such key$"):
            policy.act(observation())


def test_error_of_a_failed_vla_eval_server() -> None:
    def fail(connection: ServerConnection, number: int) -> None:
        connection.send(sealed("error", {"error": "observation_failed: KeyError"}, number))

    with scripted("vla-eval", script("vla-eval", fail)) as url:
        policy = started(url)
        with pytest.raises(PolicyError, match="the server failed: observation_failed: KeyError$"):
            policy.act(observation())


def test_an_answer_to_another_observation() -> None:
    def late(connection: ServerConnection, number: int) -> None:
        connection.send(sealed("action", {"actions": np.zeros(7)}, number - 1))

    with scripted("vla-eval", script("vla-eval", late)) as url:
        policy = started(url)
        with pytest.raises(PolicyError, match="answers with action 2; expected action 3"):
            policy.act(observation())


def test_a_server_that_takes_nothing(dialect: str) -> None:
    ended = threading.Event()

    def stuck(connection: ServerConnection, number: int) -> None:
        with connection.recv_flow_control:  # it reads no more
            ended.wait()

    with scripted(dialect, script(dialect, stuck)) as url:
        policy = started(url, timeout_s=SHORT_S)
        with pytest.raises(PolicyError, match=f"no answer within {SHORT_S:g} s"):
            policy.act(observation())
            policy.act(observation(size_px=4096))
        ended.set()


GREETINGS: dict[str, tuple[Callable[[ServerConnection], Any], str]] = {
    "silent": (lambda connection: connection.recv(), f"no answer within {SHORT_S:g} s"),
    "garbage": (lambda connection: connection.send(b"\xc1"), "uses another dialect: 1 bytes"),
    "a list": (lambda connection: connection.send(b"\x90"), "uses another dialect: "),
    "text": (lambda connection: connection.send("hi"), "(the server failed: hi|.* a text: 'hi')"),
    "closed": (lambda connection: None, r"the server closed the connection \(code 1000\)"),
}


@pytest.mark.parametrize("kind", GREETINGS)
def test_servers_that_greet_otherwise(dialect: str, kind: str) -> None:
    greet, said = GREETINGS[kind]

    def follow(connection: ServerConnection) -> None:
        if dialect == "vla-eval":
            connection.recv()
        greet(connection)
        if kind == "silent":
            for _ in connection:
                pass

    with scripted(dialect, follow) as url:
        with pytest.raises(PolicyError, match=f"^{url}: {said}"):
            connect(url, timeout_s=SHORT_S if kind == "silent" else 30)


def test_the_other_dialect() -> None:
    with scripted("vla-eval", script("openpi")) as url:
        with pytest.raises(PolicyError, match="uses another dialect: not an envelope"):
            connect(url)
    with scripted("openpi", script("vla-eval")) as url:
        with pytest.raises(PolicyError, match="no answer within"):
            connect(url, timeout_s=SHORT_S)


def test_a_later_version_of_the_protocol() -> None:
    with scripted("vla-eval", script("vla-eval", protocol_version=2)) as url:
        with pytest.raises(PolicyError, match="talks version 2 of vla-eval; allowed: 1"):
            connect(url)


def test_other_actions_are_refused_in_openpi() -> None:
    for theirs, said in (({**ACTION_SPEC, "rate_hz": 10}, "rate_hz is 10"), ([7], "a mapping")):
        with scripted("openpi", script("openpi", action_spec=theirs)) as url:
            with pytest.raises(ClevrSkillsError, match=said) as caught:
                connect(url)
            assert url in str(caught.value)
    with scripted("openpi", script("openpi", action_spec={"rate_hz": 20})) as url:
        connect(url).close()


@pytest.mark.parametrize(
    ("theirs", "said"),
    [
        ({"rotation": ("euler_xyz", 3)}, "a rotation of 3 x euler_xyz; allowed: 3 x axis_angle"),
        ({"gripper": ("binary_close_negative", 1)}, "allowed: 1 x binary_close_positive"),
        ({"position": ("delta_xyz", 2)}, "a position of 2 x delta_xyz; allowed: 3 x delta_xyz"),
        ({"base_motion": ("base_velocity3_torso1", 4)}, "have a base_motion; allowed: position"),
        ({"position": ("delta_xyz", 3), "rotation": ("axis_angle", 3)}, None),
        ({"actions": ("raw", 0)}, None),
    ],
)
def test_other_actions_are_refused_in_vla_eval(
    theirs: dict[str, tuple[str, int]], said: str | None
) -> None:
    parts = {n: {"name": n, "format": form, "dims": dims} for n, (form, dims) in theirs.items()}
    with scripted("vla-eval", script("vla-eval", action_spec=parts)) as url:
        if said is None:
            connect(url).close()
            return
        with pytest.raises(ClevrSkillsError, match=f"^{url}: .*{said}"):
            connect(url)


def test_declarations_that_are_none() -> None:
    for theirs in ([1], {"position": "delta"}):
        with scripted("vla-eval", script("vla-eval", action_spec=theirs)) as url:
            with pytest.raises(ClevrSkillsError, match=f"^{url}: its "):
                connect(url)


@pytest.mark.parametrize("options", [{"cameras": ["side"]}, {"lidar": True}, 3])
def test_observations_that_cannot_be_shown(dialect: str, options: Any) -> None:
    with scripted(dialect, script(dialect, observation_options=options)) as url:
        with pytest.raises(PolicyError, match=f"^{url}: requests invalid observations"):
            connect(url)


def test_another_policy_on_the_same_port(dialect: str) -> None:
    first = script(dialect, good(dialect), dying)
    second = script(dialect, good(dialect), observation_options={"history": 4})
    with scripted(dialect, first, second) as url:
        policy = connect(url)
        with pytest.raises(PolicyError, match="broke"):
            act_twice(policy)
        with pytest.raises(PolicyError, match="another policy is served there now"):
            policy.reset(prompt())


@contextlib.contextmanager
def answering_tcp(answer: bytes) -> Iterator[int]:
    """Something that is no WebSocket; its port."""

    def run() -> None:
        connection, _ = listening.accept()
        with connection:
            connection.recv(4096)
            connection.sendall(answer)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=run)
        thread.start()
        yield listening.getsockname()[1]
        thread.join()


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (
            b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n",
            "it answered HTTP 404, so it is not",
        ),
        (b"220 smtp ready\r\n", "not a policy server: "),
        (b"", "not a policy server: "),
    ],
)
def test_other_servers(dialect: str, answer: bytes, said: str) -> None:
    with answering_tcp(answer) as port:
        with pytest.raises(PolicyError, match=f"^{dialect}://127.0.0.1:{port}: {said}"):
            connect(f"{dialect}://127.0.0.1:{port}")


def test_no_server(dialect: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with pytest.raises(PolicyError, match="connection refused; is the server running"):
        connect(f"{dialect}://127.0.0.1:{port}")


@pytest.mark.parametrize(
    ("url", "options", "said"),
    [
        ("http://localhost:8000", {}, "unknown dialect 'http'; allowed: openpi, vla-eval"),
        ("openpi://", {}, "not an address; allowed: openpi://host:port"),
        ("openpi://h:port", {}, "allowed: openpi://host:port"),
        ("openpi://h:99999", {}, "allowed: openpi://host:port"),
        ("vla-eval://h:1?x=2", {}, "not an address; allowed: vla-eval://host:port"),
        ("openpi://h:1", {"timeout_s": 0}, "timeout_s must be above 0, not 0"),
        ("openpi://h:1", {"compress": "webp"}, "unknown compression 'webp'; allowed: none, jpeg"),
        ("openpi://h:1", {"prompt_images": "no"}, "allowed: first, always"),
        ("vla-eval://h:1", {"rename": {"a": "b"}}, "vla-eval://h:1: this dialect has no rename"),
        ("gr00t://h:1", {"compress": "png"}, "this dialect has no compress and no prompt_images"),
        ("gr00t://h:1/a", {}, "gr00t://h:1/a: not an address; allowed: gr00t://host:port"),
    ],
)
def test_arguments(url: str, options: dict[str, Any], said: str) -> None:
    with pytest.raises(ClevrSkillsError, match=re.escape(said)):
        connect(url, **options)


def test_actions_by_the_other_name_of_vla_eval() -> None:
    with scripted(
        "vla-eval", script("vla-eval", answering("vla-eval", {"action": np.ones(7)}))
    ) as url:
        policy = started(url)
        assert policy.act(observation()).tolist() == [1] * 7
        policy.close()
