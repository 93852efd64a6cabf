"""Feedback: what a turn tells of itself, in the words of a suite."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from clevrskills.core.interface import Turn
from clevrskills.errors import UnknownNameError

__all__ = ["Phrasebook"]

Mode = Literal["none", "simple", "detailed"]
MODES: tuple[Mode, ...] = get_args(Mode)


@dataclass(frozen=True)
class Phrasebook:
    """Sentences for the codes of turns. Codes are stable: results and datasets keep them.

    Attributes:
        codes: For each code its sentence, with ``{name}`` for an argument of the turn, and the
            category under which reports count it.
    """

    codes: Mapping[str, tuple[str, str]]

    def message(self, turn: Turn) -> str:
        """The sentence of a turn; empty for one without a code.

        Raises:
            UnknownNameError: The suite has no such code.
        """
        return self._entry(turn.code)[0].format(**turn.args) if turn.code else ""

    def category(self, code: str) -> str:
        """What reports count a code under.

        Raises:
            UnknownNameError: The suite has no such code.
        """
        return self._entry(code)[1]

    def shown(self, turn: Turn, mode: Mode) -> str:
        """What a policy is told of a turn.

        Args:
            turn: The turn.
            mode: ``none``: nothing; ``simple``: whether it was done; ``detailed``: its sentence
                too.
        """
        if mode == "none":
            return ""
        return self.result(turn.ok, self.message(turn) if mode == "detailed" else "")

    @staticmethod
    def result(ok: bool, sentence: str) -> str:
        """Whether a turn was done, with the sentence that says more, if there is one."""
        return f"{'Success' if ok else 'Failure'}. {sentence}".rstrip()

    def _entry(self, code: str) -> tuple[str, str]:
        if code not in self.codes:
            raise UnknownNameError("code", code, tuple(self.codes))
        return self.codes[code]
