"""Reader: solves boards from the text of a request alone, as a test of prompts."""

from __future__ import annotations

import re
from collections.abc import Sequence

from clevrskills.agents.prompter import write_action
from clevrskills.core.policy import Message
from clevrskills.errors import ClevrSkillsError
from clevrskills.suites.ivispar.board import DIRECTIONS, Board
from clevrskills.suites.ivispar.prompts.prompter import section
from clevrskills.suites.ivispar.search import solve


def reply(messages: Sequence[Message]) -> str:
    """A reply with the next move of a shortest solution, or with the pieces that are listed.

    Raises:
        ClevrSkillsError: The boards are not told in words.
    """
    rules, *_, asked = ["\n".join(p for p in m.parts if isinstance(p, str)) for m in messages]
    size = re.search(r"(\d+) by \d+ cells", rules)
    now = _board(asked, section("current"))
    if size is None or not now:
        raise ClevrSkillsError("the reader needs boards in words: --preset text")
    if f"{section('goal')}:" not in asked:
        return write_action("; ".join(f"{cell} {piece}" for piece, cell in now.items()))
    n, goal = int(size[1]), _board(asked, section("goal"))
    cells = {piece: (cell_of(cell, n), cell_of(goal[piece], n)) for piece, cell in now.items()}
    start, end = zip(*((a, b) for a, b in cells.values() if None not in (a, b)), strict=True)
    path = solve(Board(n), start, end)
    if not path:
        raise ClevrSkillsError("the reader finds no way to the goal")
    piece, direction = path[0]
    return (
        f"The goal is {len(path)} moves away.\n"
        f"{write_action(f'move {list(cells)[piece]} {DIRECTIONS[direction]}')}"
    )


def _board(text: str, title: str) -> dict[str, str]:
    """The cell of each piece of a board."""
    found = re.search(rf"^{title}:\n((?:[A-Z]\d+ \w+ \w+\n?)+)", text, re.MULTILINE)
    lines = found[1].splitlines() if found else []
    return {piece: cell for cell, piece in (line.split(" ", 1) for line in lines)}


def cell_of(name: str, size: int) -> int | None:
    """Return the cell of a name; ``None``: the board has none of this name."""
    x, z = ord(name[:1].upper() or " ") - ord("A"), name[1:]
    if not (z.isascii() and z.isdigit()) or not (0 <= x < size and 1 <= int(z) <= size):
        return None
    return (int(z) - 1) * size + x
