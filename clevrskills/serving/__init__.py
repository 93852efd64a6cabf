"""Policy servers and clients in the dialects of openpi, vla-eval and GR00T."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from clevrskills.errors import ClevrSkillsError
from clevrskills.jobs.arguments import check_names

if TYPE_CHECKING:
    from clevrskills.serving.client import RemotePolicy

__all__ = ["connect"]

DIALECTS = ("openpi", "vla-eval")
"""Dialects of ``clevrskills serve``."""
_PACKAGES = {dialect: ("msgpack", "websockets") for dialect in DIALECTS} | {
    "gr00t": ("msgpack", "zmq")
}
"""Requirements of each dialect."""


def connect(
    url: str,
    *,
    timeout_s: float = 60.0,
    compress: str = "none",
    prompt_images: str = "first",
    rename: Mapping[str, str] | None = None,
    api_key_env: str | None = None,
) -> RemotePolicy:
    """Connect to a policy server.

    Args:
        url: ``openpi://host:port``, ``vla-eval://host:port`` or ``gr00t://host:port``.
        timeout_s: Timeout in seconds for connecting and for each answer.
        compress: Encoding of images: ``none``, ``jpeg`` (quality 95) or ``png``. Files must be
            supported by servers of the openpi dialect other than ``clevrskills serve``.
        prompt_images: Whether the images of the prompt are sent with the ``first`` observation of
            an episode or ``always``.
        rename: Names used by the server, by those of this package.
        api_key_env: Environment variable with the API key.

    Raises:
        PolicyError: The server cannot be reached, or uses another dialect.
        ClevrSkillsError: An argument is invalid, the server has other actions, or a package is not
            installed.
    """
    dialect = url.partition("://")[0]
    check_names(dialect=((dialect,), tuple(_PACKAGES)))
    require_serve(dialect)
    from clevrskills.serving.api_key import read_api_key

    rename = rename or {}
    if not isinstance(rename, Mapping) or not all(isinstance(v, str) for v in rename.values()):
        raise ClevrSkillsError(f"rename={rename!r}; allowed: a JSON object of new names by name")
    key = read_api_key(api_key_env)
    if dialect == "gr00t":
        from clevrskills.serving.gr00t import Gr00tPolicy
        from clevrskills.serving.zeromq import ZeroMQWire

        if (compress, prompt_images) != ("none", "first"):
            raise ClevrSkillsError(f"{url}: this dialect has no compress and no prompt_images")
        return Gr00tPolicy(ZeroMQWire(url, timeout_s), rename, key)
    from clevrskills.serving.connection import WebSocketWire

    wire = WebSocketWire(url, timeout_s, key)
    if dialect == "openpi":
        from clevrskills.serving.openpi import OpenPiPolicy

        return OpenPiPolicy(wire, compress, prompt_images, rename)
    from clevrskills.serving.vla_eval import VlaEvalPolicy

    if rename:
        raise ClevrSkillsError(f"{url}: this dialect has no rename")
    return VlaEvalPolicy(wire, compress, prompt_images)


def require_serve(dialect: str) -> None:
    """Check that the packages of a dialect are installed.

    Raises:
        ClevrSkillsError: They are not.
    """
    import importlib

    for package in _PACKAGES[dialect]:
        try:
            importlib.import_module(package)
        except ModuleNotFoundError as error:
            raise ClevrSkillsError(
                f"policy servers need {error.name}: pip install 'clevrskills[serve]'"
            ) from error
