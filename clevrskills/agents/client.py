"""Chat client for OpenAI-compatible endpoints, on the standard library only."""

from __future__ import annotations

import http.client
import json
import random
import re
import socket
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from email.utils import parsedate_to_datetime
from time import monotonic, sleep, time
from typing import Any, Protocol

from clevrskills.agents.messages import MEDIA, to_openai, tokens_of
from clevrskills.core.policy import ConnectionLost, Message, PolicyError, PromptInput
from clevrskills.errors import ClevrSkillsError, UnknownNameError
from clevrskills.serving.api_key import read_api_key
from clevrskills.serving.proxy import proxy_of, through

LARGEST_REPLY = 20 * 2**20
"""Maximum number of bytes of a response."""
EMPTY_REPLIES = 3
"""Maximum number of retries after an empty reply."""
FIRST_WAIT_S, LONGEST_WAIT_S = 0.5, 60.0
TRANSIENT = (408, 409, 425, 429)
"""HTTP statuses besides 5xx that are retried."""
_SHOWN = 300  # maximum characters of a server's message in errors
_FILTER = "refused by the provider's filter"


@dataclass(frozen=True)
class Reply:
    """Reply of a model."""

    text: str  # empty if the model gave no text after all retries
    # ``requests`` that were answered, ``prompt_tokens``, ``completion_tokens``
    usage: Mapping[str, float] = field(default_factory=dict)
    finish_reason: str = ""  # as reported by the server; empty: not reported

    @property
    def cut_off(self) -> bool:
        """``True`` if the token limit ended the reply."""
        return self.finish_reason in ("length", "max_tokens")


class LanguageModel(Protocol):
    """Language model that replies to messages."""

    def begin(self, prompt: PromptInput, env: Any = None) -> None:
        """Begin an episode."""

    def answer(self, messages: Sequence[Message]) -> Reply:
        """Return the reply to messages.

        Raises:
            PolicyError: No reply has arrived.
        """


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Redirect handler that refuses redirects, so that the key stays with one server."""

    def redirect_request(self, *_: Any) -> None:
        return None


class _Transient(Exception):  # noqa: N818 (retried)
    """Error after which the request is retried.

    Args:
        message: Description of the error.
        wait_s: Seconds to wait, as requested by the server.
        silent: Whether the server did not answer in time.
    """

    def __init__(self, message: str, wait_s: float | None = None, silent: bool = False) -> None:
        super().__init__(message)
        self.wait_s, self.silent = wait_s, silent


class ChatClient:
    """Client of one model behind a chat API.

    Args:
        url: Base URL of the API, without ``/chat/completions``. A URL that contains it is used
            unchanged, as Azure requires.
        model: Name of the model.
        key_env: Environment variable with the API key; ``None``: no key.
        key_header: Header of the key, which follows ``Bearer`` in ``Authorization`` only.
        temperature: Sampling temperature; ``None``: the server's default, as for the next two.
        top_p: Probability mass of nucleus sampling.
        max_tokens: Maximum number of tokens of a reply.
        seed: Sampling seed: a number, or ``episode`` to derive it from the episode.
        timeout_s: Timeout of a response, in seconds.
        retries: Maximum number of retries after a transient error.
        media: Format of images, ``png`` or ``jpeg``.
        extra: Additional fields of the request.

    Raises:
        ClevrSkillsError: A value is not allowed, or the key is missing.
    """

    def __init__(
        self,
        url: str,
        model: str,
        key_env: str | None = None,
        key_header: str = "Authorization",
        temperature: float | None = 0.0,
        top_p: float | None = None,
        max_tokens: int | None = 4096,
        seed: int | str | None = None,
        timeout_s: float = 120.0,
        retries: int = 10,
        media: str = "png",
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ClevrSkillsError(f"{url!r} is not a URL; allowed: http://… or https://…")
        if parts.username or parts.password:
            raise ClevrSkillsError("the URL contains a password; pass it with key_env")
        for name, _ in urllib.parse.parse_qsl(parts.query):
            if re.search("key|token|secret|signature", name, re.IGNORECASE):
                raise ClevrSkillsError(f"the URL contains a secret, {name}; pass it with key_env")
        if not (timeout_s > 0 and retries >= 0):
            raise ClevrSkillsError("timeout_s must be above 0, and retries at least 0")
        if media not in MEDIA:
            raise UnknownNameError("media", media, MEDIA)
        if isinstance(seed, str) and seed != "episode":
            raise ClevrSkillsError(f"seed {seed!r}; allowed: a number, or episode")
        whole = "/chat/completions" in parts.path
        self._url = url if whole else f"{url.rstrip('/')}/chat/completions"
        self._headers = {"Content-Type": "application/json", "Accept": "application/json"}
        self._headers["User-Agent"] = "clevrskills"  # some providers refuse urllib's
        self._key = read_api_key(key_env, "key_env")
        if self._key:
            bearer = key_header.lower() == "authorization"
            self._headers[key_header] = f"Bearer {self._key}" if bearer else self._key
        sampling = {"temperature": temperature, "top_p": top_p, "max_tokens": max_tokens}
        given = {name: value for name, value in sampling.items() if value is not None}
        self._request = {"model": model, **given, **(extra or {})}
        self._seed, self._timeout_s, self._retries = seed, float(timeout_s), int(retries)
        self._media, self._responded = media, False
        self._proxy = proxy_of(self._url)
        proxies = {parts.scheme: self._proxy} if self._proxy else {}
        handler = urllib.request.ProxyHandler(proxies)
        self._opener = urllib.request.build_opener(_NoRedirects, handler)

    def begin(self, prompt: PromptInput, env: Any = None) -> None:
        """Begin an episode, whose seed determines the jitter of retries."""
        self._jitter = random.Random(prompt.seed)
        if self._seed is not None:
            seed = prompt.seed % 2**31 if self._seed == "episode" else self._seed
            self._request["seed"] = seed

    def answer(self, messages: Sequence[Message]) -> Reply:
        """Return the reply to messages; an empty reply that was not cut off is requested again, up
        to :data:`EMPTY_REPLIES` times.

        Raises:
            PolicyError: The server refuses the request, or gives no valid reply.
        """
        data = {**self._request, "messages": to_openai(messages, self._media)}
        body = json.dumps(data, ensure_ascii=False).encode()
        usage = dict.fromkeys(("requests", "prompt_tokens", "completion_tokens"), 0)
        parsed = Reply("")
        for _ in range(1 + EMPTY_REPLIES):
            reply = self._ask(body)
            parsed, counted = _parse_reply(reply), reply.get("usage")
            counted = counted if isinstance(counted, dict) else {}
            estimated = {
                "prompt_tokens": tokens_of(messages),
                "completion_tokens": tokens_of([Message("assistant", (parsed.text,))]),
            }
            usage["requests"] += 1
            for name, guess in estimated.items():
                count = counted.get(name)
                usage[name] += count if type(count) is int and count >= 0 else guess
            if parsed.text.strip() or parsed.cut_off:
                break
        return replace(parsed, text=parsed.text if parsed.text.strip() else "", usage=usage)

    def _ask(self, body: bytes) -> dict[str, Any]:
        """Send a request, with retries, and return the response."""
        for again in range(self._retries + 1):
            try:
                return self._once(body)
            except _Transient as error:
                if again == self._retries:
                    tries = f" ({again + 1} tries)" if again else ""
                    kind = PolicyError if error.silent else ConnectionLost
                    raise kind(f"{self._url}: {error}{tries}") from None
                wait_s = min(FIRST_WAIT_S * 2**again, LONGEST_WAIT_S)
                wait_s *= self._jitter.uniform(0.5, 1.0)
                sleep(wait_s if error.wait_s is None else error.wait_s)
        raise AssertionError("the last try returns or raises")

    def _once(self, body: bytes) -> dict[str, Any]:
        request = urllib.request.Request(self._url, body, self._headers)  # noqa: S310 (checked)
        try:
            with self._opener.open(request, timeout=self._timeout_s) as response:
                text = self._read(response)
        except urllib.error.HTTPError as error:
            with error:
                try:
                    text = self._read(error)
                except (OSError, http.client.HTTPException):
                    text = ""
            self._responded = True
            raise self._refusal(error.code, text, error.headers.get("Retry-After")) from None
        except (http.client.HTTPException, OSError) as error:
            reason = getattr(error, "reason", error)
            absent = isinstance(reason, ConnectionRefusedError | socket.gaierror)
            if absent and not self._responded:
                raise ConnectionLost(f"{self._url}: {self._trouble(error)}") from None
            silent = isinstance(reason, TimeoutError)
            raise _Transient(self._trouble(error), silent=silent) from None
        self._responded = True
        try:
            reply = json.loads(text)
        except ValueError:
            raise PolicyError(f"{self._url}: response is not JSON: {_clipped(text)!r}") from None
        if not isinstance(reply, dict):
            raise PolicyError(f"{self._url}: response is not a JSON object: {_clipped(text)!r}")
        problem = reply.get("error")
        if problem:  # some servers report errors with status 200
            code = problem.get("code") if isinstance(problem, dict) else None
            raise self._refusal(code if isinstance(code, int) else 400, text, None)
        return reply

    def _read(self, response: Any) -> str:
        """Return the body of a response, with the key masked if the server repeats it."""
        ends_s, chunks, size = monotonic() + self._timeout_s, list[bytes](), 0
        while chunk := response.read1(2**16):
            chunks.append(chunk)
            size += len(chunk)
            if size > LARGEST_REPLY:
                raise PolicyError(f"{self._url}: response exceeds {LARGEST_REPLY >> 20} MB")
            if monotonic() > ends_s:
                raise TimeoutError
        if response.length:  # fewer bytes than announced
            raise http.client.IncompleteRead(b"", response.length)
        text = b"".join(chunks).decode(errors="replace")
        return text.replace(self._key, "[key]") if self._key else text

    def _refusal(self, status: int, text: str, wait: str | None) -> Exception:
        message = _clipped(_message(text))
        if "content_filter" in text and status < 500:
            return PolicyError(f"{_FILTER}: {message}")
        line = f"status {status}{through(self._proxy)}" + (f": {message}" if message else "")
        if status in TRANSIENT or status >= 500:
            return _Transient(line, _wait_s(wait))
        return PolicyError(f"{self._url}: {line}")

    def _trouble(self, error: Exception) -> str:
        reason = getattr(error, "reason", error)
        if isinstance(reason, TimeoutError):
            return f"no answer within {self._timeout_s:g} s"
        if isinstance(error, http.client.IncompleteRead):
            return "the response was cut off"
        return f"no connection{through(self._proxy)}: {reason or type(error).__name__}"


def _parse_reply(reply: Mapping[str, Any]) -> Reply:
    """Return the text and finish reason of a response."""
    try:
        choice = reply["choices"][0]
        message = choice["message"]
        content = message.get("content")
        finish = str(choice.get("finish_reason") or "")
        if finish == "content_filter":
            raise PolicyError(_FILTER)
        if isinstance(content, list):
            content = "".join(part.get("text") or "" for part in content)
        content = content or message.get("refusal") or ""
        if not isinstance(content, str):
            raise TypeError
    except (KeyError, IndexError, TypeError, AttributeError):
        shown = _clipped(json.dumps(reply))
        raise PolicyError(f"the response has no message: {shown}") from None
    # unpaired surrogates cannot be encoded
    return Reply(content.encode(errors="replace").decode(), finish_reason=finish)


def _message(text: str) -> str:
    """Return the message of a server's error response."""
    try:
        problem = json.loads(text)["error"]
        return str(problem["message"] if isinstance(problem, dict) else problem)
    except (ValueError, KeyError, TypeError):
        return text


def _clipped(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN else f"{line[:_SHOWN]}…"


def _wait_s(value: str | None) -> float | None:
    """Parse ``Retry-After``, seconds or a date; return seconds, or ``None`` if it is not given."""
    if value is None:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(value).timestamp() - time()
        except ValueError:
            return None
    return min(max(seconds, 0.0), 10 * LONGEST_WAIT_S) if seconds == seconds else None
