"""iVISPAR suite: symbolic boards and boards on the table, baselines, published results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from clevrskills.core.env import Env, Episode
from clevrskills.core.env_config import EnvConfig
from clevrskills.core.episode import FrozenEpisodes
from clevrskills.core.interface import Interface
from clevrskills.core.report import Cell, Item, Measure, Number, Pivot, Protocol
from clevrskills.core.suite import (
    DEFAULT_PRESET,
    NO_ROBOT,
    EpisodeOracle,
    MomentRenderer,
    Preset,
    Suite,
    TaskInfo,
    TaskTable,
    make_renderer,
)
from clevrskills.jobs.arguments import check_names
from clevrskills.suites.ivispar import ARM
from clevrskills.suites.ivispar.arm.boards import ArmBoards
from clevrskills.suites.ivispar.env import COUNTED
from clevrskills.suites.ivispar.prompts.prompter import BoardPrompter
from clevrskills.suites.ivispar.published import PUBLISHED
from clevrskills.suites.ivispar.symbol_boards import SymbolBoards
from clevrskills.suites.ivispar.views import SINGLE
from clevrskills.suites.symbolic import SymbolicEpisode

EPISODES_DIR = Path(__file__).parent / "episodes"
"""Folder of the frozen episodes."""


def _shown(view: str) -> dict[str, Any]:
    """Return options that show the current board and the goal in a view."""
    return {"view": (view, f"{view}@goal"), "feedback": "none"}


SAMPLING: Mapping[str, Any] = {
    **{"temperature": 1.0, "top_p": 0.95, "max_tokens": 500},
    "extra": {"top_k": 50},
}
"""Sampling of the open models in the paper (arXiv 2502.03214)."""
PRESETS: Mapping[str, Preset] = {
    DEFAULT_PRESET: Preset("the base set", {"split": ("base",)}),
    "text": Preset("text", _shown("text")),
    "schematic": Preset("drawings from above", _shown("schematic")),
    "view3d": Preset("3D images", _shown("view3d")),
    "random3d": Preset("3D images from random cameras", _shown("random3d")),
    "nolabels": Preset("3D images without cell labels", _shown("view3d-none")),
    "single": Preset("all boards in one 3D image", {"view": (SINGLE,), "feedback": "none"}),
    "feedback": Preset("3D images and feedback", {**_shown("view3d"), "feedback": "simple"}),
    **{
        f"{view}_sampled": Preset(
            f"{view} with the paper's sampling of open models", _shown(view), sampling=SAMPLING
        )
        for view in ("text", "schematic", "view3d")
    },
}
"""Presets of run options."""
REPORT: Sequence[Item] = (
    Measure("d_opt", "d_opt", digits=2),
    Measure("r_end", "r_end", digits=1),
    Measure("min_d", "min d", digits=2),
    Measure("progress_end", "progress", digits=0),
    Measure("solved_tight", "solved tightly", "share"),
    Measure("optimal", "optimally", "share"),
    *(Measure(name, name.replace("_", " "), digits=1) for name in COUNTED),
    Measure("illegal_transitions", "against rules", digits=2),
    Measure("disturbance_mm", "moved others (mm)", digits=1),
    Measure("precision", "listed rightly", "share"),
    Measure("recall", "pieces listed", "share"),
    Measure("exact", "exactly", "share"),
    Pivot("k", "c1"),
    Pivot("k", "c2"),
    Protocol(
        tuple(
            Cell(view, "base", options={"preset": view}, tasks=("geoms",), step_s=seconds)
            for view, seconds in (("view3d", 0.25), ("schematic", 0.16), ("text", 0.003))
        ),
        (Number("solved"), Number("mean deviation", measure="d_opt")),
        ("train",),
        pooled="all",
    ),
    *PUBLISHED,
)
"""Content of report tables."""


class IVisparSuite(Suite):
    """Sliding puzzles, symbolic or solved by an arm.

    Args:
        folder: Folder of the frozen episodes; ``None``: that of the package.
    """

    name, title = "ivispar", "re-implementation of iVISPAR"

    def __init__(self, folder: Path | None = None) -> None:
        folder = folder or EPISODES_DIR
        self.boards, self.arm = SymbolBoards(folder), ArmBoards(folder)
        self._families: dict[str, Suite] = dict.fromkeys(self.boards.tasks, self.boards)
        self._families[ARM] = self.arm

    @property
    def tasks(self) -> Mapping[str, TaskInfo]:
        return TaskTable(self._families, lambda key: self._families[key].tasks[key])

    def family(self, task: str) -> Suite:
        """Return the suite that implements a task.

        Raises:
            UnknownNameError: The task is unknown.
        """
        check_names(task=((task,), self._families))
        return self._families[task]

    def make(self, config: EnvConfig, **options: Any) -> Env:
        return self.family(config.task).make(config, **options)

    def oracle(self, env: Env, interface: Interface | None = None) -> EpisodeOracle:
        return self.family(env.task.key).oracle(env, interface)

    def draw(
        self,
        task: str,
        split: str,
        seed: int,
        index: int = 0,
        robot: str = "",
        task_args: Mapping[str, Any] | None = None,
        wording: int | None = 0,
    ) -> Episode:
        robot = "" if robot == NO_ROBOT else robot
        return self.family(task).draw(task, split, seed, index, robot, task_args, wording)

    def read_episode(self, data: Mapping[str, Any]) -> Episode:
        return self.family(data["task"]).read_episode(data)

    def frozen(self, task: str, split: str) -> FrozenEpisodes[Any]:
        return self.family(task).frozen(task, split)

    def check(self, config: EnvConfig) -> None:
        self.family(config.task).check(config)

    def criteria(self) -> Sequence[str]:
        return ("paper", "released")

    def trajectory_renderer(self, config: EnvConfig) -> MomentRenderer | None:
        return make_renderer(self.family(config.task), config)

    def policies(self) -> Mapping[str, str]:
        module = "clevrskills.suites.ivispar.agents"
        return {
            "random": f"{module}:RandomMoves",
            "random_any": f"{module}:RandomAny",
            "greedy": f"{module}:Greedy",
        }

    def presets(self) -> Mapping[str, Preset]:
        return PRESETS

    def prompter(self, interface: Interface, options: Mapping[str, Any]) -> BoardPrompter:
        return BoardPrompter(options)

    def report(self) -> Sequence[Item]:
        return REPORT

    def read_original(self, task: str, split: str, folder: Path) -> Sequence[Episode]:
        check_names(**{"task with files of iVISPAR": ((task,), self.boards.tasks)})
        return self.boards.read_original(task, split, folder)

    def write_original(self, episode: Episode) -> tuple[str, Mapping[str, Any]]:
        assert isinstance(episode, SymbolicEpisode), "episodes of the arm have no iVISPAR file"
        return self.boards.write_original(episode)
