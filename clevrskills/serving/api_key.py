"""API keys of policy servers."""

import hmac
import logging
import os
from collections.abc import Iterable

from clevrskills.errors import ClevrSkillsError

SCHEME = "Api-Key"
"""Prefix of the key in the header ``Authorization``, as in openpi's client."""


def read_api_key(variable: str | None, option: str = "api_key_env") -> str | None:
    """Return the key in an environment variable; ``None`` without a variable.

    Raises:
        ClevrSkillsError: The variable is missing or holds no key.
    """
    if variable is None:
        return None
    if not variable.isidentifier():  # not repeated: it may be the key itself
        raise ClevrSkillsError(f"{option} is the name of a variable, such as OPENAI_API_KEY")
    key = os.environ.get(variable, "").strip()
    if not key:
        raise ClevrSkillsError(f"{option}: there is no API key in the variable {variable}: set it")
    if not (key.isascii() and key.isprintable()):
        raise ClevrSkillsError(f"{option}: what {variable} holds is not printable ASCII")
    return key


def authorization(key: str | None) -> dict[str, str]:
    """Return the request headers with a key."""
    return {} if key is None else {"Authorization": f"{SCHEME} {key}"}


def is_authorized(shown: Iterable[str], key: str | None) -> bool:
    """Return whether an ``Authorization`` header has the key, compared in constant time."""
    if key is None:
        return True
    expected = f"{SCHEME} {key}".encode()
    return any(
        hmac.compare_digest(header.encode(errors="surrogateescape"), expected) for header in shown
    )


def quiet_log() -> logging.Logger:
    """Return a logger for websockets without debug messages, which would reveal headers."""
    log = logging.getLogger("clevrskills.serving.websockets")
    log.setLevel(max(logging.INFO, log.getEffectiveLevel()))
    return log
