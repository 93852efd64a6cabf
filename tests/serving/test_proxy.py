"""Proxies: servers of this machine need none, others that of the environment, which errors name."""

import pytest

from clevrskills.agents.client import ChatClient
from clevrskills.core.policy import Message, PolicyError, PromptInput
from clevrskills.serving import connect
from clevrskills.serving.proxy import proxy_of, through

NOWHERE = "http://user:secret@127.0.0.1:9"


@pytest.fixture(autouse=True)
def _proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy"):
        monkeypatch.setenv(name, NOWHERE)
    monkeypatch.setenv("no_proxy", "gpu.test")


@pytest.mark.parametrize(
    ("url", "proxy"),
    [
        ("http://127.0.0.1:8000/v1", None),
        ("http://127.8.1.2:8000", None),
        ("http://localhost:8000", None),
        ("http://[::1]:8000", None),
        ("http://gpu.test:8000", None),
        ("http://models.test/v1", NOWHERE),
        ("https://models.test/v1", NOWHERE),
        ("http://10.0.0.2:8000", NOWHERE),
    ],
)
def test_the_way_to_a_server(url: str, proxy: str | None) -> None:
    assert proxy_of(url) == proxy


def test_a_proxy_is_named_without_its_password() -> None:
    assert through(None) == ""
    assert "127.0.0.1:9 " in through(NOWHERE) and "secret" not in through(NOWHERE)


def test_a_proxy_without_a_scheme(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "127.0.0.1:9")
    assert proxy_of("http://models.test") == "http://127.0.0.1:9"


def test_errors_name_the_proxy() -> None:
    client = ChatClient("http://models.test/v1", "any", retries=0)
    client.begin(PromptInput("", {}))
    with pytest.raises(PolicyError, match=r"models\.test.*through the proxy 127\.0\.0\.1:9"):
        client.answer([Message("user", ("hello",))])
    with pytest.raises(PolicyError, match=r"models\.test.*through the proxy 127\.0\.0\.1:9"):
        connect("openpi://models.test:8000", timeout_s=5)
