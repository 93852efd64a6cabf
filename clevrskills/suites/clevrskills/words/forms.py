"""Forms of commands, and random commands."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

COMMANDS = (
    "pick up X",
    "put down",
    "put X on Y",
    "put X in Y",
    "put X at (x, y)",
    "put X at (x, y) turned to N degrees",
    "put X at (x, y) turned to N degrees on Y",
    "push X",
    "push X towards Y",
    "push X to (x, y)",
    "rotate X N degrees clockwise",
    "rotate X N degrees anti-clockwise",
    "throw X to Y",
    "throw X to Y such that it falls over",
    "touch X",
    "topple X",
    "stack X, Y and Z on top of each other",
    "topple the stack of X, Y, Z",
    "balance the scale with X, Y and Z",
    "move to X",
    "move to (x, y, z)",
    "wait",
)
"""Forms of commands; X, Y and Z are keys or names of objects, places are in metres."""
_LEAST_M, _MOST_M = (-0.30, -0.30, 0.05), (0.10, 0.30, 0.40)
_PLACES, _HEIGHTS, _ANGLES = 41 * 61, 36, 17
"""Numbers of sampled places and heights, in centimetres, and of angles, in steps of ten degrees."""


def any_command(generator: np.random.Generator, keys: Sequence[str], by_form: bool = False) -> str:
    """Sample a command, uniformly over all sentences with centimetres and steps of ten degrees.

    Args:
        generator: Source of randomness.
        keys: Keys of the objects.
        by_form: Whether to sample uniformly over :data:`COMMANDS` instead.
    """
    weights = np.array([1.0 if by_form else _sentences(form, len(keys)) for form in COMMANDS])
    command = str(generator.choice(COMMANDS, p=weights / weights.sum()))
    for name in ("X", "Y", "Z"):
        command = command.replace(name, str(generator.choice(keys)))
    centimetres = [
        int(generator.integers(round(100 * a), round(100 * b) + 1))
        for a, b in zip(_LEAST_M, _MOST_M, strict=True)
    ]
    x, y, z = (f"{value / 100:.2f}" for value in centimetres)
    command = command.replace("(x, y, z)", f"({x}, {y}, {z})").replace("(x, y)", f"({x}, {y})")
    return command.replace(" N ", f" {10 * int(generator.integers(1, _ANGLES + 1))} ")


def _sentences(form: str, things: int) -> float:
    """Return the number of sentences of a form."""
    count = float(things ** sum(word.strip(",") in ("X", "Y", "Z") for word in form.split()))
    count *= _PLACES if "(x, y" in form else 1
    count *= _HEIGHTS if "z)" in form else 1
    return count * (_ANGLES if " N " in form else 1)
