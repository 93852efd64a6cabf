"""Feedback: what a policy is told of a turn, in the words of the interface that it acts by."""

from typing import Literal, get_args

from clevrskills.core.interface import Interface, Turn
from clevrskills.errors import UnknownNameError

Mode = Literal["none", "simple", "detailed"]
MODES: tuple[Mode, ...] = get_args(Mode)


def turn_message(interface: Interface, turn: Turn) -> str:
    """Return the sentence of a turn's code; empty for a turn without a code.

    Raises:
        UnknownNameError: The interface has no such code.
    """
    if not turn.code:
        return ""
    if turn.code not in interface.codes:
        raise UnknownNameError("code", turn.code, tuple(interface.codes))
    return interface.codes[turn.code][0].format(**turn.args)


def turn_feedback(interface: Interface, turn: Turn, mode: Mode) -> str:
    """Return what a policy is told of a turn.

    Args:
        interface: The interface that the turn was taken by.
        turn: The turn.
        mode: ``none``: nothing; ``simple``: whether it was done; ``detailed``: its sentence too.
    """
    if mode == "none":
        return ""
    return feedback_text(turn.ok, turn_message(interface, turn) if mode == "detailed" else "")


def feedback_text(ok: bool, sentence: str) -> str:
    """Return whether a turn was done, with the sentence that says more, if there is one."""
    return f"{'Success' if ok else 'Failure'}. {sentence}".rstrip()
