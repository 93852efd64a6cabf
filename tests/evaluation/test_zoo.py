"""Published checkpoints solve the tasks that their cards name, on drawn episodes."""

from pathlib import Path
from typing import Any

import pytest

from clevrskills.evaluation.evaluate import EvaluateArgs, evaluate
from clevrskills.evaluation.results import read_results

FOLDER = Path(__file__).parents[2] / "zoo/clevrskills_zoo"
SEED = 910_000_000
SKILLS = ("pick", "push", "touch", "throw")
PRIMITIVES = {
    "suite": "lohoravens",
    "level": ("primitive",),
    "interface": "pick_place_pixels",
}
OPTIONS: dict[str, dict[str, Any]] = {
    "boards": {"suite": "ivispar", "tasks": ("geoms",), "episodes": 12},
    "cliport-primitives": PRIMITIVES,
    "compact": {"tasks": (*SKILLS, "stack", "swap")},
    "compact-l0": {"tasks": SKILLS},
    "move-without-hitting": {"tasks": ("move_without_hitting",), "episodes": 12},
    "place": {"tasks": ("place",), "episodes": 12},
    "rotate": {"tasks": ("rotate",), "episodes": 12},
    "stream-robolm-compact": {"tasks": ("pick", "throw", "throw_topple")},
    "touch-push": {"tasks": ("touch_push",), "episodes": 12},
    "touch-topple": {"tasks": ("touch_topple",), "episodes": 12},
}


def test_every_checkpoint_is_tried() -> None:
    networks = {"rotate-cloned"}  # initial networks, no policy
    assert {path.parent.name for path in FOLDER.glob("*/README.md")} == {*OPTIONS} | networks


@pytest.mark.slow
@pytest.mark.render
@pytest.mark.parametrize("name", OPTIONS)
def test_published_checkpoint_solves_its_tasks(name: str, tmp_path: Path) -> None:
    kind = "checkpoint" if (FOLDER / name / "config.json").exists() else "rl"
    options = {"split": ("val",), "seed": SEED, "episodes": 4, "workers": 1} | OPTIONS[name]
    assert evaluate(EvaluateArgs(**options, policy=f"{kind}:zoo/{name}", out=tmp_path)) == 0
    solved = [result.success_once for result in read_results(tmp_path)]
    least = 0.8 if name == "cliport-primitives" else 0.5
    assert sum(solved) >= least * len(solved), f"{sum(solved)} of {len(solved)}"
