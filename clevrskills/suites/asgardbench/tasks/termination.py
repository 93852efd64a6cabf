"""Termination of episodes that have not reached their goal."""

from __future__ import annotations

REPEATS = 8
"""Number of repetitions of a sequence of turns that ends an episode."""
FAILURES = 10
"""Number of consecutive refused turns that ends an episode."""
MORE = 10
"""Turns by which the soft limit is extended."""
FLAGGED = ("SLICE", "CLEAN", "DRINK", "SPRAY")
"""Verbs whose success extends the soft limit."""


class Termination:
    """Criterion that ends an episode.

    Args:
        n: Length of the known solution.

    Attributes:
        reason: ``repeats``, ``failures`` or ``step limit``; empty: the episode continues.
        extended: Whether the soft limit was extended.
        hit_hard_limit: Whether the hard limit ended the episode.
    """

    def __init__(self, n: int) -> None:
        self.soft, self.hard = max(int(1.5 * n), 15), max(2 * n, 20)
        self.reason = ""
        self.extended = self.hit_hard_limit = False
        self._turns: list[tuple[str, str]] = []
        self._refused = 0
        self._flag = False

    def turn(self, verb: str, kind: str, *, ok: bool) -> None:
        """Record a turn; verb and type of an unparsable one are empty."""
        self._turns.append((verb, kind))
        self._refused = 0 if ok else self._refused + 1
        self._flag |= ok and verb in FLAGGED
        self.reason = self._look()

    def _look(self) -> str:
        if self._repeats():
            return "repeats"
        if self._refused >= FAILURES:
            return "failures"
        count = len(self._turns)
        if count > self.hard:
            self.hit_hard_limit = True
            return "step limit"
        if count <= self.soft:
            return ""
        recent = {kind for _, kind in self._turns[-MORE:]}
        before = {kind for _, kind in self._turns[-2 * MORE : -MORE]}
        if not self._flag and recent <= before:
            return "step limit"
        self._flag = False
        self.soft += MORE
        self.extended = True
        return ""

    def _repeats(self) -> bool:
        turns = self._turns
        for length in range(1, len(turns) // REPEATS + 1):
            tail = turns[-length:]
            if turns[-length * REPEATS :] == tail * REPEATS:
                return True
        return False
