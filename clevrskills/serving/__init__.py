"""Policies behind a WebSocket: in the dialect of openpi's servers or of vla-eval's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clevrskills.errors import ClevrSkillsError
from clevrskills.jobs.arguments import check_names

if TYPE_CHECKING:
    from clevrskills.serving.client import RemotePolicy

__all__ = ["connect"]

DIALECTS = ("openpi", "vla-eval")


def connect(
    url: str,
    *,
    timeout_s: float = 60.0,
    compress: str = "none",
    prompt_images: str = "first",
) -> RemotePolicy:
    """A policy behind a server.

    Args:
        url: ``openpi://host:port`` or ``vla-eval://host:port``.
        timeout_s: How long to wait for the server, in connecting and for each answer.
        compress: How images are sent: ``none``, as they are; ``jpeg`` (quality 95) or ``png``, as
            files. Servers of the openpi dialect other than ``clevrskills serve`` must expect those.
        prompt_images: Whether the images of the prompt are sent with the ``first`` observation of
            an episode or ``always``.

    Raises:
        PolicyError: The server cannot be reached, or does not talk its dialect.
        ClevrSkillsError: An argument is not valid; the server's actions are not ours; websockets or
            msgpack is not installed.
    """
    require_serve()
    dialect = url.partition("://")[0]
    check_names(dialect=((dialect,), DIALECTS))
    if dialect == "openpi":
        from clevrskills.serving.openpi import OpenPiPolicy

        return OpenPiPolicy(url, timeout_s, compress, prompt_images)
    from clevrskills.serving.vla_eval import VlaEvalPolicy

    return VlaEvalPolicy(url, timeout_s, compress, prompt_images)


def require_serve() -> None:
    """Check that the packages of the extra ``serve`` are there.

    Raises:
        ClevrSkillsError: They are not.
    """
    try:
        import msgpack  # noqa: F401
        import websockets  # noqa: F401
    except ModuleNotFoundError as error:
        raise ClevrSkillsError(
            f"policy servers need {error.name}: pip install 'clevrskills[serve]'"
        ) from error
