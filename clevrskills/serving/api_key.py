"""API keys of policy servers: read from a variable of the environment, shown, compared."""

import hmac
import logging
import os
from collections.abc import Iterable

from clevrskills.errors import ClevrSkillsError

SCHEME = "Api-Key"
"""Prefix of the key in the header ``Authorization``, as openpi's client writes it."""


def read_api_key(variable: str | None, option: str = "api_key_env") -> str | None:
    """Return the key that a variable of the environment holds; ``None``: no variable is named.

    Args:
        variable: Its name.
        option: What names it, for errors.

    Raises:
        ClevrSkillsError: There is no such variable, or no key in it.
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
    """Return the headers that show a key."""
    return {} if key is None else {"Authorization": f"{SCHEME} {key}"}


def is_authorized(shown: Iterable[str], key: str | None) -> bool:
    """Return whether a header ``Authorization`` shows the key, compared in constant time."""
    if key is None:
        return True
    expected = f"{SCHEME} {key}".encode()
    return any(
        hmac.compare_digest(header.encode(errors="surrogateescape"), expected) for header in shown
    )


def quiet_log() -> logging.Logger:
    """Return a logger for websockets, whose debugging lines would show headers."""
    log = logging.getLogger("clevrskills.serving.websockets")
    log.setLevel(max(logging.INFO, log.getEffectiveLevel()))
    return log
