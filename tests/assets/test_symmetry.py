"""Which shapes show that they were turned, by their outline."""

import numpy as np
import pytest

from clevrskills.assets import shape
from clevrskills.assets.topside import (
    ALIKE_SHARE,
    TURNS_DEG,
    change_of_outline,
    outline_symmetry,
)


@pytest.mark.parametrize(
    ("name", "order"),
    [
        ("cube", 4),
        ("cylinder", 0),
        ("disc", 0),
        ("triangle", 3),
        ("pentagon", 5),
        ("hexagon", 6),
        ("star", 5),
        ("plus", 4),
        ("flower", 6),
        ("letter H", 2),
        ("letter N", 2),
        ("letter S", 2),
        ("letter L", 1),
        ("letter R", 1),
        ("letter T", 1),
        ("arrow", 1),
        ("mug", 1),
        ("hammer", 1),
    ],
)
def test_known_shapes(name, order):
    assert outline_symmetry(shape(name)) == order


@pytest.mark.parametrize(
    ("name", "order"), [("dice", 4), ("domino", 2), ("book", 2), ("apple", 0), ("marker", 2)]
)
def test_details_do_not_break_the_symmetry_of_an_outline(name, order):
    """Pips, covers, stems: these shapes have no symmetry, their outlines do."""
    assert outline_symmetry(shape(name)) == order


@pytest.mark.parametrize(
    ("name", "size", "order"), [("cube", (0.1, 0.06, 0.05), 2), ("triangle", (0.1, 0.05, 0.05), 1)]
)
def test_a_stretched_shape_has_less_symmetry(name, size, order):
    assert outline_symmetry(shape(name, size)) == order


@pytest.mark.parametrize("name", ["letter L", "padlock", "mug", "wrench"])
def test_nothing_is_near_the_limit(name):
    """Shapes that show turns do so clearly."""
    assert change_of_outline(shape(name)).min() > 2 * ALIKE_SHARE


@pytest.mark.parametrize("name", ["triangle", "star", "letter K", "banana"])
def test_a_turn_and_the_same_turn_back_change_as_much(name):
    change = change_of_outline(shape(name))
    assert len(change) == len(TURNS_DEG)
    assert np.allclose(change, change[::-1], atol=0.03)
