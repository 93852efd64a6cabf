"""The page of axes agrees with the code."""

from pathlib import Path

import pytest

from clevrskills.envs.perturbations import AXES

PAGE = (Path(__file__).parents[3] / "docs" / "robustness.md").read_text(encoding="utf-8")
UNITS = ("m", "rad", "deg", "%", "px")
TABLE = PAGE.split("## The axes")[1].split("\n## ")[0]


@pytest.mark.parametrize("axis", AXES.values(), ids=AXES)
def test_each_axis_with_its_levels(axis):
    (row,) = [line for line in TABLE.splitlines() if line.startswith(f"| `{axis.name}` |")]
    levels = row.split("|")[3]
    for name in axis.levels[0]:
        values = ", ".join(f"{round(level[name], 3):.3g}" for level in axis.levels)
        quantity, _, unit = name.rpartition("_")
        if unit not in UNITS:
            quantity, unit = name, ""
        assert f"{quantity.replace('_', ' ')} {values} {unit}".strip() in levels
