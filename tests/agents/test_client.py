"""Chat client against a real HTTP server, with valid, faulty, late and missing responses."""

import json
import socket
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from email.utils import formatdate
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from clevrskills.agents.client import ChatClient, Reply
from clevrskills.agents.messages import images_of
from clevrskills.agents.mock_server import _Handler, behavior, serving
from clevrskills.core.policy import ImagePart, Message, PolicyError, PromptInput
from clevrskills.errors import ClevrSkillsError

HELLO = [Message("system", ("Be brief.",)), Message("user", ("What now?",))]
GOOD: dict[str, Any] = {"reply": "action: go"}


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[float]]:
    """Seconds that the client would have waited before each retry."""
    found: list[float] = []
    monkeypatch.setattr("clevrskills.agents.client.sleep", found.append)
    yield found


class Server:
    """Recorded requests, answered in turn; the last answer repeats."""

    def __init__(self, answers: Sequence[Mapping[str, Any]]) -> None:
        self.answers, self.requests = [*answers], list[Mapping[str, Any]]()

    def __call__(self, request: Mapping[str, Any]) -> Mapping[str, Any]:
        self.requests.append(request)
        return self.answers[min(len(self.requests), len(self.answers)) - 1]


def asked(
    answers: Sequence[Mapping[str, Any]], seed: int = 7, messages: Any = HELLO, **options: Any
) -> tuple[Reply, Server]:
    """Reply of the client to the answers of a server."""
    server = Server(answers)
    with serving(server) as url:
        return begun(url, seed, **options).answer(messages), server


def begun(url: str, episode_seed: int = 0, **options: Any) -> ChatClient:
    client = ChatClient(url, "a-model", **options)
    client.begin(PromptInput("", {}, episode_seed))
    return client


def refused(answers: Sequence[Mapping[str, Any]], **options: Any) -> str:
    with pytest.raises(PolicyError) as error:
        asked(answers, **options)
    return str(error.value)


def test_request_has_the_openai_format() -> None:
    image = np.zeros((2, 3, 3), np.uint8)
    messages = [*HELLO, Message("user", ("Look:", ImagePart("view", image)))]
    options: dict[str, Any] = {"top_p": 0.9, "max_tokens": 50, "extra": {"top_k": 4}}
    reply, server = asked([GOOD], messages=messages, seed=2**31 + 5, **options)
    (request,) = server.requests
    shown = request.pop("messages")  # type: ignore[attr-defined]
    assert request == {
        **{"model": "a-model", "temperature": 0.0, "top_p": 0.9, "max_tokens": 50, "top_k": 4}
    }
    assert shown[0] == {"role": "system", "content": "Be brief."}
    assert shown[2]["content"][0] == {"type": "text", "text": "Look:"}
    url = shown[2]["content"][1]["image_url"]["url"]
    assert url.startswith("data:image/png;base64,iVBOR")
    assert reply.text == "action: go" and reply.usage["requests"] == 1
    _, server = asked([GOOD], messages=messages, media="jpeg", seed=7, temperature=None)
    assert "image/jpeg" in json.dumps(server.requests) and "temperature" not in server.requests[0]
    assert images_of(messages)["view"] is image


def test_sampling_seed() -> None:
    server = Server([GOOD])
    with serving(server) as url:
        for given in (None, 11, "episode"):
            begun(url, 2**31 + 5, seed=given).answer(HELLO)
    assert [request.get("seed") for request in server.requests] == [None, 11, 5]


def test_tokens_are_reported_by_the_server_or_estimated() -> None:
    given = {"usage": {"prompt_tokens": 41, "completion_tokens": 3}}
    message = {"choices": [{"message": {"content": "four"}}]}
    reply, _ = asked([{"body": json.dumps({**message, **given})}])
    assert reply.usage == {"requests": 1, "prompt_tokens": 41, "completion_tokens": 3}
    for nonsense in (None, "many", {"prompt_tokens": -4, "completion_tokens": True}):
        reply, _ = asked([{"body": json.dumps({**message, "usage": nonsense})}])
        assert reply.usage == {"requests": 1, "prompt_tokens": 4, "completion_tokens": 1}


@pytest.mark.parametrize(
    "answer",
    [
        {"status": 429, "body": ""},
        {"status": 408, "body": "slow"},
        {"status": 500, "body": '{"error": "broken"}'},
        {"status": 503, "body": '{"error": {"message": "loading"}}'},
        {"body": '{"error": {"message": "overloaded", "code": 502}}'},
        {"reply": "action: go", "missing": 10},
        {"reply": "action: go", "missing": 10, "status": 500},
    ],
)
def test_transient_errors_are_retried(answer: Any, waits: list[float]) -> None:
    reply, server = asked([answer, answer, GOOD])
    assert reply.text == "action: go" and len(server.requests) == 3
    assert reply.usage["requests"] == 1  # refused requests are not counted
    assert 0.25 <= waits[0] <= 0.5 and 0.5 <= waits[1] <= 1.0


def test_backoff_depends_on_the_episode_and_grows_up_to_a_minute(waits: list[float]) -> None:
    answers = [{"status": 500, "body": ""}]
    for seed in (7, 7, 8):
        assert "status 500 (11 tries)" in refused(answers, seed=seed)
    first, second, other = waits[:10], waits[10:20], waits[20:]
    assert first == second != other
    assert all(30 <= wait <= 60 for wait in first[7:])


@pytest.mark.parametrize(
    ("message", "seconds"),
    [("3", 3.0), ("0", 0.0), ("-5", 0.0), ("1e9", 600.0), ("nan", None), ("soon", None)],
)
def test_retry_after_is_respected(message: str, seconds: float | None, waits: list[float]) -> None:
    busy = {"status": 429, "body": "", "headers": {"Retry-After": message}}
    assert asked([busy, GOOD])[0].text == "action: go"
    assert waits == [seconds] if seconds is not None else 0.25 <= waits[0] <= 0.5


def test_retry_after_may_be_a_date(waits: list[float]) -> None:
    date = formatdate(time.time() + 100, usegmt=True)
    asked([{"status": 503, "body": "", "headers": {"Retry-After": date}}, GOOD])
    assert 90 <= waits[0] <= 100


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ({"status": 400, "body": '{"error": {"message": "no such model"}}'}, "400: no such model"),
        ({"status": 401, "body": "who are you"}, "status 401: who are you"),
        ({"status": 404, "body": ""}, "status 404"),
        ({"status": 302, "headers": {"Location": "http://elsewhere/"}, "body": ""}, "status 302"),
        ({"body": "<html>Hello</html>"}, "response is not JSON: '<html>Hello</html>'"),
        ({"body": ""}, "response is not JSON: ''"),
        ({"body": "[1, 2]"}, "response is not a JSON object"),
        ({"body": "{}"}, "the response has no message: {}"),
        ({"body": '{"choices": []}'}, "has no message"),
        ({"body": '{"choices": [{"message": {"content": 5}}]}'}, "has no message"),
        ({"body": '{"choices": [{"message": "hi"}]}'}, "has no message"),
        ({"reply": "a", "finish_reason": "content_filter"}, "refused by the provider's filter"),
        (
            {"status": 400, "body": '{"error": {"code": "content_filter", "message": "no"}}'},
            "refused by the provider's filter: no",
        ),
        ({"body": "x" * 5000}, "…"),
    ],
)
def test_permanent_errors_are_not_retried(answer: Any, expected: str, waits: list[float]) -> None:
    error = refused([answer])
    assert expected in error and "\n" not in error and len(error) < 500
    assert not waits


def test_maximum_size_of_a_response(waits: list[float]) -> None:
    for status in (200, 500):
        huge = {"reply": "action: go", "size": 21 * 2**20, "status": status}
        assert "response exceeds 20 MB" in refused([huge]) and not waits
    assert asked([{"reply": "action: go", "size": 19 * 2**20}])[0].text == "action: go"


def test_empty_replies_are_retried_three_times(waits: list[float]) -> None:
    reply, server = asked([{"reply": " \n"}])
    assert (reply.text, len(server.requests), reply.usage["requests"]) == ("", 4, 4)
    reply, server = asked([{"reply": ""}, {"reply": ""}, {"reply": ""}, GOOD])
    assert reply.text == "action: go" and len(server.requests) == 4 and not waits


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ({"content": None, "refusal": "I will not."}, "I will not."),
        ({"content": [{"type": "text", "text": "a"}, {"text": "b"}]}, "ab"),
        ({"content": "half \ud800"}, "half ?"),
    ],
)
def test_forms_of_replies(message: Any, text: str) -> None:
    assert asked([{"body": json.dumps({"choices": [{"message": message}]})}])[0].text == text


def test_scripts_of_servers(tmp_path: Path, waits: list[float]) -> None:
    script = tmp_path / "script.jsonl"
    script.write_text('{"status": 500, "body": ""}\n"two\\nlines"\nplain words\n')
    with serving(behavior(f"script:{script}")) as url:
        client = begun(url)
        texts = [client.answer(HELLO).text for _ in range(3)]
    assert texts == ["two\nlines", "plain words", "two\nlines"] and len(waits) == 2
    for content, given in (('{"stauts": 500}\n', "stauts"), ("", "is empty")):
        script.write_text(content)
        with pytest.raises(ClevrSkillsError, match=given):
            behavior(f"script:{script}")


def test_invalid_requests_are_refused_by_the_mock_server() -> None:
    with serving(behavior("garbage")) as url:
        with pytest.raises(PolicyError, match="404: the only endpoint is /chat/completions"):
            begun(f"{url}/chat/completions/x").answer(HELLO)
        # ``extra`` does not override the messages
        assert begun(url, extra={"messages": 5}).answer(HELLO).text


def test_slow_servers(waits: list[float]) -> None:
    given = refused([{**GOOD, "delay_s": 0.3}], timeout_s=0.05, retries=1)
    assert "no answer within 0.05 s (2 tries)" in given and len(waits) == 1


def test_the_timeout_applies_to_the_whole_response() -> None:
    listener = socket.create_server(("127.0.0.1", 0))

    def drip() -> None:
        connection, _ = listener.accept()
        with connection:
            connection.recv(65536)
            connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
            for _ in range(200):
                try:
                    connection.sendall(b" ")
                except OSError:
                    return
                threading.Event().wait(0.01)

    thread = threading.Thread(target=drip)
    thread.start()
    url = f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
    with pytest.raises(PolicyError, match="no answer within"):
        begun(url, timeout_s=0.2, retries=0).answer(HELLO)
    thread.join()
    listener.close()


def test_a_lost_server_is_retried_and_an_absent_one_is_not(waits: list[float]) -> None:
    with serving(Server([GOOD])) as url:
        client = begun(url, retries=2)
        assert client.answer(HELLO).text == "action: go"
    with pytest.raises(PolicyError, match=r"no connection: .*refused \(3 tries\)"):
        client.answer(HELLO)
    assert len(waits) == 2
    with pytest.raises(PolicyError, match="no connection"):
        begun(url).answer(HELLO)
    assert len(waits) == 2


def test_the_key_is_sent_to_the_server_only(
    monkeypatch: pytest.MonkeyPatch, waits: list[float]
) -> None:
    monkeypatch.setenv("SOME_KEY", "sk-secret")
    seen: list[Any] = []
    answer = _Handler.do_POST

    def noted(handler: _Handler) -> None:
        seen.append({name.lower(): value for name, value in handler.headers.items()})
        answer(handler)

    monkeypatch.setattr(_Handler, "do_POST", noted)
    repeated = {"status": 400, "body": "your key is sk-secret"}
    for options, header, shown in (
        ({}, "Authorization", "Bearer sk-secret"),
        ({"key_header": "api-key"}, "api-key", "sk-secret"),
    ):
        error = refused([repeated], key_env="SOME_KEY", **options)
        assert "sk-secret" not in error and "[key]" in error
        assert seen[-1][header.lower()] == shown and str(seen[-1]).count("sk-secret") == 1
    assert asked([GOOD])[0].text == "action: go" and "sk-secret" not in str(seen[-1])


@pytest.mark.parametrize(
    ("url", "options", "message"),
    [
        ("localhost:8000", {}, "is not a URL"),
        ("ftp://h/v1", {}, "is not a URL"),
        ("http://me:pw@h/v1", {}, "contains a password"),
        ("http://h/v1?api_key=sk-secret", {}, "contains a secret, api_key"),
        ("http://h/v1", {"key_env": "NOT_THERE"}, "no API key in the variable NOT_THERE"),
        ("http://h/v1", {"key_env": "sk-secret"}, "name of a variable"),
        ("http://h/v1", {"media": "gif"}, "gif"),
        ("http://h/v1", {"seed": "fresh"}, "a number, or episode"),
        ("http://h/v1", {"timeout_s": 0}, "above 0"),
        ("http://h/v1", {"retries": -1}, "at least 0"),
    ],
)
def test_invalid_arguments(url: str, options: Any, message: str) -> None:
    with pytest.raises(ClevrSkillsError, match=message) as error:
        ChatClient(url, "m", **options)
    assert "sk-secret" not in str(error.value) and "pw" not in str(error.value)


def test_a_full_url_is_used_unchanged() -> None:
    azure = "https://h/openai/deployments/d/chat/completions?api-version=2024-10-21"
    assert ChatClient(azure, "m")._url == azure
    assert ChatClient("http://h/v1/", "m")._url == "http://h/v1/chat/completions"
