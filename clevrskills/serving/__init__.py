"""Policies behind a server: in the dialect of openpi's, of vla-eval's or of GR00T's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from clevrskills.errors import ClevrSkillsError
from clevrskills.jobs.arguments import check_names

if TYPE_CHECKING:
    from clevrskills.serving.client import RemotePolicy

__all__ = ["connect"]

DIALECTS = ("openpi", "vla-eval")
"""Those of ``clevrskills serve``."""
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
    """Return a policy behind a server.

    Args:
        url: ``openpi://host:port``, ``vla-eval://host:port`` or ``gr00t://host:port``.
        timeout_s: How long to wait for the server, in connecting and for each answer.
        compress: How images are sent: ``none``, as they are; ``jpeg`` (quality 95) or ``png``, as
            files. Servers of the openpi dialect other than ``clevrskills serve`` must expect those.
        prompt_images: Whether the images of the prompt are sent with the ``first`` observation of
            an episode or ``always``.
        rename: What the server calls otherwise: our name -> its name.
        api_key_env: Variable of the environment that holds the API key to show to the server.

    Raises:
        PolicyError: The server cannot be reached, or does not talk its dialect.
        ClevrSkillsError: An argument is not valid; the server's actions are not ours; a package is
            not installed.
    """
    dialect = url.partition("://")[0]
    check_names(dialect=((dialect,), tuple(_PACKAGES)))
    require_serve(dialect)
    from clevrskills.serving.api_key import read_api_key

    rename = rename or {}
    if not isinstance(rename, Mapping) or not all(isinstance(v, str) for v in rename.values()):
        raise ClevrSkillsError(f"rename={rename!r}; allowed: new names by name, as JSON")
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
    """Check that the packages of the extra ``serve`` that a dialect needs are there.

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
