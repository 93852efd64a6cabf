"""The iVISPAR suite: sets of boards, views, baselines and published numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar
from zlib import crc32

import numpy as np

from clevrskills import env_id
from clevrskills.core.env import Env
from clevrskills.core.env_config import EnvConfig
from clevrskills.core.interface import Interface
from clevrskills.core.suite import (
    NO_ROBOT,
    Measure,
    Oracle,
    Preset,
    PublishedTable,
    TrajectoryRenderer,
)
from clevrskills.errors import ClevrSkillsError
from clevrskills.jobs.arguments import check_names
from clevrskills.suites.ivispar import ARM
from clevrskills.suites.ivispar.board import DIRECTIONS
from clevrskills.suites.ivispar.boards import (
    COLOURS,
    SETS,
    SHAPES,
    Puzzle,
    draw,
    limit,
    palette,
)
from clevrskills.suites.ivispar.env import COUNTED, BoardEnv
from clevrskills.suites.ivispar.interface import CODES, INDEX, MoveInterface
from clevrskills.suites.ivispar.original import export_config, read_config
from clevrskills.suites.ivispar.prompts.prompter import BoardPrompter
from clevrskills.suites.ivispar.published import PUBLISHED
from clevrskills.suites.ivispar.vector import CellVectorEnv
from clevrskills.suites.ivispar.views import SINGLE, VIEWS
from clevrskills.suites.symbolic import SymbolicEpisode, SymbolicSuite

if TYPE_CHECKING:
    from clevrskills.suites.ivispar.arm.boards import ArmBoards

_ARM_SPLITS = ("train", "val", "base", "interference")
_ARM_CAMERAS = ("base_camera", "board_camera", "hand_camera", "render_camera")
_ARM_FROZEN = 100
_SPLITS = ("train", "val", *SETS)
_FROZEN = {"val": 50, "base": 300, "interference": 140, "sizes": 120, "pilot": 21}
_TEXT = MoveInterface(
    "text",
    {
        "grammar": "move <color> <shape> <direction>",
        "colors": list(COLOURS),
        "shapes": list(SHAPES),
        "directions": list(DIRECTIONS),
        "examples": [f"move red cube {direction}" for direction in DIRECTIONS],
    },
    "one move of one piece in words; of tiles `move tile <n> <direction>`; where pieces are to be "
    "listed, `<cell> <color> <shape>; ...`",
    codes=CODES,
)


_PREDICATES = {"geoms": ["set", "at_cell"], "tiles": ["set", "at_cell"], "listing": ["listed"]}
_LIMITS = {
    "geoms": "20 turns in train, val and base, else max(2 c1, c1 + 4)",
    "tiles": "max(2 c1, c1 + 4) turns",
    "listing": "1 turn",
    ARM: "as on the board of symbols; by delta 60 control steps for each of its turns",
}


class IVisparSuite(SymbolicSuite):
    """Sliding geoms, numbered tiles, and a listing of what is seen; for its arguments see
    :class:`~clevrskills.suites.symbolic.SymbolicSuite`.
    """

    name, title = "ivispar", "re-implementation of iVISPAR"
    env = BoardEnv
    text = _TEXT
    tasks: ClassVar[Mapping[str, tuple[str, str]]] = {
        "geoms": ("board", "Slide the pieces, one by one cell each turn, until all are as shown"),
        "tiles": ("board", "Slide numbered tiles into their order through the one free cell"),
        "listing": ("perception", "List every piece with its cell"),
        ARM: (
            "arm",
            "Move the pieces on the table, one by one cell at a time, until all are as shown",
        ),
    }

    def splits(self) -> Sequence[str]:
        return _SPLITS

    def default_splits(self) -> Sequence[str]:
        return ("base",)

    def splits_of(self, task: str) -> Sequence[str]:
        if task == ARM:
            return _ARM_SPLITS
        return _SPLITS if task == "geoms" else _SPLITS[:3]

    def count_frozen(self, split: str) -> int:
        return _FROZEN.get(split, 100)

    def criteria(self) -> Sequence[str]:
        return ("paper", "released")

    def cameras(self) -> Sequence[str]:
        drawn = (name for name, view in VIEWS.items() if view.base != "text")
        return (*_ARM_CAMERAS, *drawn)

    def default_cameras(self) -> Sequence[str]:
        return ()

    def cameras_of(self, task: str) -> Sequence[str]:
        return ("base_camera", "hand_camera") if task == ARM else ()

    def views(self) -> Mapping[str, str]:
        kinds = {name: "text" if view.base == "text" else "image" for name, view in VIEWS.items()}
        return {**kinds, **dict.fromkeys(_ARM_CAMERAS, "image")}

    def interfaces(self) -> Mapping[str, Interface]:
        from clevrskills.sim.robots.delta_action import DELTA

        return {**super().interfaces(), INDEX.name: INDEX, DELTA.name: DELTA}

    def interfaces_of(self, task: str) -> Sequence[str]:
        return [name for name in self.interfaces() if task == ARM or name != "delta"]

    # ---- the task of the arm ----

    @cached_property
    def arm(self) -> ArmBoards:
        """What is asked for the task in which an arm acts."""
        from clevrskills.suites.ivispar.arm.boards import ArmBoards

        return ArmBoards(self.folder)

    def robots(self) -> Sequence[str]:
        return (NO_ROBOT, *self.robots_of(ARM))

    def robots_of(self, task: str) -> Sequence[str]:
        return ("xarm6", "panda") if task == ARM else (NO_ROBOT,)

    def describe(self, task: str) -> Mapping[str, Any]:
        arm = task == ARM
        own = {} if arm else {"id": env_id(task, "IVispar"), "predicates": _PREDICATES[task]}
        return {
            **(self.arm.describe(task) if arm else {**super().describe(task), "wordings": 1}),
            **own,
            "suite": self.name,
            "splits": list(self.splits_of(task)),
            "interfaces": list(self.interfaces_of(task)),
            "tags": {"of_episodes": ["k", "c1", "c2", "n", "set"]},
            "limit": _LIMITS[task],
        }

    def check(self, task: str, task_args: Mapping[str, Any]) -> None:
        if task == ARM:
            self.arm.check(task, task_args)
        else:
            super().check(task, task_args)

    def make(self, config: EnvConfig, **options: Any) -> Any:
        if config.task == ARM:
            return self.arm.make(config, **options)
        check_names(**{f"view of {config.task}": (config.cameras, VIEWS)})
        return super().make(config)

    def oracle(self, env: Env, interface: Interface | None = None) -> Oracle:
        if isinstance(env, BoardEnv):
            return super().oracle(env)
        return self.arm.oracle(env, interface or self.text)

    def trajectory_renderer(self, config: EnvConfig) -> TrajectoryRenderer | None:
        return self.arm.trajectory_renderer(config) if config.task == ARM else None

    def draw(
        self,
        task: str,
        split: str,
        seed: int,
        index: int = 0,
        robot: str = "",
        task_args: Mapping[str, Any] | None = None,
    ) -> Any:
        if task == ARM:
            of = "" if robot == NO_ROBOT else robot
            return self.arm.draw(task, split, seed, index, of, task_args)
        return super().draw(task, split, seed, index, robot, task_args)

    def read_episode(self, data: Mapping[str, Any]) -> Any:
        arm = data["task"] == ARM
        return self.arm.read_episode(data) if arm else super().read_episode(data)

    def policies(self) -> Mapping[str, str]:
        module = "clevrskills.suites.ivispar.agents"
        return {
            "random": f"{module}:RandomMoves",
            "random_any": f"{module}:RandomAny",
            "greedy": f"{module}:Greedy",
        }

    def presets(self) -> Mapping[str, Preset]:
        return {
            "text": Preset("boards in words", _shown("text")),
            "schematic": Preset("boards drawn from above", _shown("schematic")),
            "view3d": Preset("boards in three dimensions", _shown("view3d")),
            "random3d": Preset("the same from cameras drawn at random", _shown("random3d")),
            "nolabels": Preset(
                "in three dimensions, without names of cells", _shown("view3d-none")
            ),
            "single": Preset(
                "in three dimensions, all boards in one image",
                {"view": (SINGLE,), "feedback": "none"},
            ),
            "feedback": Preset(
                "in three dimensions, and told whether a move was made",
                {**_shown("view3d"), "feedback": "simple"},
            ),
        }

    def prompter(self, interface: Interface, options: Mapping[str, Any]) -> BoardPrompter:
        return BoardPrompter(options)

    def measures(self) -> Sequence[Measure]:
        return (
            Measure("d_opt", "d_opt", digits=2),
            Measure("r_end", "r_end", digits=1),
            Measure("min_d", "min d", digits=2),
            Measure("progress_end", "progress", digits=0),
            Measure("solved_tight", "solved tightly", "share"),
            Measure("optimal", "optimally", "share"),
            *(Measure(name, name.replace("_", " "), digits=1) for name in COUNTED),
            Measure("illegal_transitions", "against rules", digits=2),
            Measure("disturbance_mm", "moved others (mm)", digits=1),
            Measure("pieces_right", "pieces right", "share"),
            Measure("exact", "exactly", "share"),
        )

    def pivots(self) -> Sequence[tuple[str, str]]:
        return (("k", "c1"), ("k", "c2"))

    def published(self) -> Sequence[PublishedTable]:
        return PUBLISHED

    def draw_episode(self, task: str, split: str, seed: int, index: int) -> SymbolicEpisode:
        of = "tiles" if task == "tiles" else split if split in SETS else "base"
        # listings are of the boards of the geoms
        entropy = (
            seed,
            crc32((task if task == "tiles" else "geoms").encode()),
            crc32(split.encode()),
        )
        puzzle = draw(of, seed, np.random.default_rng(entropy))
        return self.episode(task, split, index, seed, of, puzzle)

    def imported(self, task: str, split: str, folder: Path) -> Sequence[SymbolicEpisode]:
        files = sorted(folder.glob("*.json"))
        if not files:
            raise ClevrSkillsError(f"{folder} has no files *.json")
        puzzles = [(path, read_config(path)) for path in files]
        for path, puzzle in puzzles:
            if (puzzle.geoms[0][1] == "tile") != (task == "tiles"):
                raise ClevrSkillsError(f"{path} is no puzzle of the task {task}")
        colours, shapes = palette("base")
        basic = all(
            color in colours and shape in shapes for _, p in puzzles for color, shape in p.geoms
        )
        of = "tiles" if task == "tiles" else split if split in SETS else "base"
        of = of if basic or of in ("sizes", "pilot", "tiles") else "pilot"  # it has all pieces
        return [
            self.episode(task, split, index, index, of, puzzle)
            for index, (_, puzzle) in enumerate(puzzles)
        ]

    def training_envs(self, task: str, num_envs: int, seed: int) -> CellVectorEnv:
        if task != "geoms":
            super().training_envs(task, num_envs, seed)
        frozen = [
            Puzzle.from_json(episode.start["puzzle"])
            for split in ("val", *SETS)
            for episode in self.frozen("geoms", split)
        ]
        return CellVectorEnv(num_envs, seed, avoid=[(board.start, board.goal) for board in frozen])

    def original_file(self, episode: SymbolicEpisode) -> tuple[str, Mapping[str, Any]]:
        data = export_config(episode)
        return f"{data['config_instance_id']}.json", data

    def episode(
        self, task: str, split: str, index: int, seed: int, of: str, puzzle: Puzzle
    ) -> SymbolicEpisode:
        """The episode of a puzzle of a set."""
        turns = 1 if task == "listing" else limit(of, puzzle.c1)
        tags = {"k": len(puzzle.geoms), "c1": puzzle.c1, "c2": puzzle.c2, "n": puzzle.size}
        start = {"set": of, "puzzle": puzzle.to_json()}
        text = self.tasks[task][1]
        return SymbolicEpisode(task, split, index, seed, text, start, turns, {**tags, "set": of})


def _shown(view: str) -> dict[str, Any]:
    """Options that show a policy the present board and the goal."""
    return {"view": (view, f"{view}@goal"), "feedback": "none"}
