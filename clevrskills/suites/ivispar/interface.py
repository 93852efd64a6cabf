"""Action interfaces of boards: moves as text, or as a number, 4 piece + direction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from clevrskills.core.interface import Actuator, Codes, TextActuator, TextInterface, check_spec
from clevrskills.core.policy import ActionError
from clevrskills.errors import ClevrSkillsError, whole_number
from clevrskills.suites.ivispar.board import DIRECTIONS
from clevrskills.suites.ivispar.boards import COLORS, SHAPES
from clevrskills.suites.ivispar.commands import canonical
from clevrskills.suites.symbolic import SymbolicEnv

MOST_PIECES = 20
CODES = {
    "MOVED": ("", ""),
    "LISTED": ("", ""),
    "OCCUPIED": ("The cell {direction} of the {piece} is taken.", "occupied"),
    "OUT_OF_BOUNDS": ("The {piece} can't leave the board.", "out of bounds"),
    "UNPARSABLE": ("That is no command of this board.", "format"),
    "UNKNOWN_WORD": ("There is no {word} here; there are: {known}.", "format"),
    "UNKNOWN_OBJECT": ("There is no {piece} on this board.", "unknown piece"),
    "FAILED": ("The arm did not bring the {piece} there: {reason}.", "arm"),
}
"""Message and class of each outcome of a move."""


def actuator_of(env: Any) -> Actuator:
    """Return the actuator of a symbolic board or of an arm.

    Raises:
        ClevrSkillsError: The arm's planner is not installed or cannot run.
    """
    if isinstance(env, SymbolicEnv):
        return TextActuator(env)
    from clevrskills.solvers.requirements import require_planner
    from clevrskills.suites.ivispar.arm.actuator import BoardActuator

    require_planner()
    return BoardActuator(env)


@dataclass(frozen=True)
class MoveInterface(TextInterface):
    """Interface of text commands."""

    def begin(self, env: Any) -> Actuator:
        return actuator_of(env)


@dataclass(frozen=True)
class IndexInterface:
    """Interface of moves as numbers, whose range depends on the board."""

    name: str  # name of the interface
    spec: Mapping[str, Any]  # meaning of the numbers
    sentence: str = "a move as one number: 4 times the number of the piece, plus the direction"
    labels: Sequence[str] = ()
    codes: ClassVar[Codes] = CODES

    def read(self, answer: Any, clip: bool = True) -> list[int]:
        """Return the move of an answer.

        Raises:
            ActionError: The answer is not a non-negative integer.
        """
        number = answer if np.ndim(answer) == 0 or np.size(answer) != 1 else np.ravel(answer)[0]
        try:
            return [whole_number("action", number)]
        except ClevrSkillsError as error:
            raise ActionError(str(error)) from None

    def check(self, theirs: Mapping[str, Any], policy_name: str) -> None:
        """Check the action spec declared by a policy against :attr:`spec`."""
        check_spec(self.spec, theirs, policy_name)

    def begin(self, env: Any) -> Actuator:
        return actuator_of(env)

    def none(self, after: Any = None) -> int:
        """Return the move of the first piece to the left, as there is no null move."""
        return 0

    def random(self, generator: np.random.Generator) -> int:
        """Return a random move of the first piece."""
        return int(generator.integers(len(DIRECTIONS)))


INDEX = IndexInterface(
    "index", {"directions": list(DIRECTIONS), "most": len(DIRECTIONS) * MOST_PIECES}
)
TEXT = MoveInterface(
    "text",
    {
        "grammar": "move <color> <shape> <direction>",
        "colors": list(COLORS),
        "shapes": list(SHAPES),
        "directions": list(DIRECTIONS),
        "examples": [f"move red cube {direction}" for direction in DIRECTIONS],
    },
    "one move of one piece in words; of tiles `move tile <n> <direction>`; where pieces are to be "
    "listed, `<cell> <color> <shape>; ...`",
    codes=CODES,
    grammar=canonical,
)
