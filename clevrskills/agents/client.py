"""Chat client: asks a language model behind an OpenAI-compatible endpoint.

Standard library only; ``docs/agents.md`` says why.
"""

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
"""Bytes of a reply."""
EMPTY_REPLIES = 3
"""How often an empty reply is asked for again."""
FIRST_WAIT_S, LONGEST_WAIT_S = 0.5, 60.0
TRANSIENT = (408, 409, 425, 429)
"""Statuses besides 5xx after which it makes sense to ask again."""
_SHOWN = 300  # characters of what a server says, in errors
_FILTER = "refused by the provider's filter"


@dataclass(frozen=True)
class Reply:
    """Reply of a model."""

    text: str  # its words; empty: it said nothing, however often it was asked
    # ``requests`` that were answered, ``prompt_tokens``, ``completion_tokens``
    usage: Mapping[str, float] = field(default_factory=dict)
    finish_reason: str = ""  # why they end, as the server says; empty: it does not

    @property
    def cut_off(self) -> bool:
        """Return whether the token limit ended the reply."""
        return self.finish_reason in ("length", "max_tokens")


class LanguageModel(Protocol):
    """Language model that replies to messages."""

    def begin(self, prompt: PromptInput, env: Any = None) -> None:
        """Begin an episode."""

    def answer(self, messages: Sequence[Message]) -> Reply:
        """Return the reply to messages.

        Raises:
            PolicyError: None has arrived.
        """


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Redirect handler that keeps the key from other servers."""

    def redirect_request(self, *_: Any) -> None:
        return None


class _Transient(Exception):  # noqa: N818 (it is not the last word)
    """Error that may be over when the request is repeated.

    Args:
        message: What went wrong.
        wait_s: When the server says to ask again.
        silent: Whether the server gave no answer in time.
    """

    def __init__(self, message: str, wait_s: float | None = None, silent: bool = False) -> None:
        super().__init__(message)
        self.wait_s, self.silent = wait_s, silent


class ChatClient:
    """Client of one model behind a chat API.

    Args:
        url: Where the API is, up to and without ``/chat/completions``; if it contains that, it is
            taken as it is, as Azure needs it.
        model: Name of the model.
        key_env: Variable of the environment that holds the API key; ``None``: there is none.
        key_header: Header that shows the key: after ``Bearer`` in ``Authorization``, alone in any
            other.
        temperature: Of sampling; ``None``: left to the server, like the two that follow.
        top_p: Share of the probability from which is drawn.
        max_tokens: Tokens of a reply, at most.
        seed: A number, or ``episode``: it follows from the episode.
        timeout_s: Seconds within which something must arrive.
        retries: How often it is asked again after what may be over then.
        media: How images are sent, ``png`` or ``jpeg``.
        extra: More entries of the request.

    Raises:
        ClevrSkillsError: A value is not allowed, or there is no key.
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
            raise ClevrSkillsError(f"{url!r} is no address; allowed: http://… or https://…")
        if parts.username or parts.password:
            raise ClevrSkillsError("the address holds a password; name a variable with key_env")
        for name, _ in urllib.parse.parse_qsl(parts.query):
            if re.search("key|token|secret|signature", name, re.IGNORECASE):
                raise ClevrSkillsError(
                    f"the address holds a secret, {name}; name a variable with key_env"
                )
        if not (timeout_s > 0 and retries >= 0):
            raise ClevrSkillsError("timeout_s must be above 0, and retries at least 0")
        if media not in MEDIA:
            raise UnknownNameError("media", media, MEDIA)
        if isinstance(seed, str) and seed != "episode":
            raise ClevrSkillsError(f"seed {seed!r}; allowed: a number, or episode")
        whole = "/chat/completions" in parts.path
        self._url = url if whole else f"{url.rstrip('/')}/chat/completions"
        self._headers = {"Content-Type": "application/json", "Accept": "application/json"}
        self._headers["User-Agent"] = "clevrskills"  # some providers refuse that of the library
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
        """Begin an episode: its seed decides how long is waited before asking again."""
        self._jitter = random.Random(prompt.seed)
        if self._seed is not None:
            seed = prompt.seed % 2**31 if self._seed == "episode" else self._seed
            self._request["seed"] = seed

    def answer(self, messages: Sequence[Message]) -> Reply:
        """Return the reply to messages; an empty one that was not cut off is asked for again, up to
        :data:`EMPTY_REPLIES` times.

        Raises:
            PolicyError: The server refuses, says something else, or does not answer.
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
        """Return what the server answers to a request, repeated as often as necessary.

        Raises:
            PolicyError: It does not answer as it should.
        """
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
            raise PolicyError(f"{self._url} answers no JSON: {_clipped(text)!r}") from None
        if not isinstance(reply, dict):
            raise PolicyError(f"{self._url} answers no JSON object: {_clipped(text)!r}")
        problem = reply.get("error")
        if problem:  # some servers refuse with status 200
            code = problem.get("code") if isinstance(problem, dict) else None
            raise self._refusal(code if isinstance(code, int) else 400, text, None)
        return reply

    def _read(self, response: Any) -> str:
        """Return the body of a response, without the key, should a server repeat it.

        Raises:
            PolicyError: It is too large.
        """
        ends_s, chunks, size = monotonic() + self._timeout_s, list[bytes](), 0
        while chunk := response.read1(2**16):
            chunks.append(chunk)
            size += len(chunk)
            if size > LARGEST_REPLY:
                raise PolicyError(f"{self._url} answers more than {LARGEST_REPLY >> 20} MB")
            if monotonic() > ends_s:
                raise TimeoutError
        if response.length:  # less has arrived than was announced
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
            return "the answer was cut off"
        return f"no connection{through(self._proxy)}: {reason or type(error).__name__}"


def _parse_reply(reply: Mapping[str, Any]) -> Reply:
    """Return the text of a reply, and why it ends.

    Raises:
        PolicyError: It has none, or a filter kept it back.
    """
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
        raise PolicyError(f"an answer without a message of a model: {shown}") from None
    # half a surrogate pair cannot be written
    return Reply(content.encode(errors="replace").decode(), finish_reason=finish)


def _message(text: str) -> str:
    """Return the error message of a server, shortened to its essence."""
    try:
        problem = json.loads(text)["error"]
        return str(problem["message"] if isinstance(problem, dict) else problem)
    except (ValueError, KeyError, TypeError):
        return text


def _clipped(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN else f"{line[:_SHOWN]}…"


def _wait_s(value: str | None) -> float | None:
    """Return ``Retry-After`` in seconds, from seconds or a date; ``None``: not given."""
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
