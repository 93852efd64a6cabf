"""Suite of the symbolic boards, the tasks without an arm."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np

from clevrskills import env_id
from clevrskills.core.env_config import EnvConfig
from clevrskills.core.suite import TaskInfo
from clevrskills.errors import ClevrSkillsError
from clevrskills.jobs.arguments import check_names
from clevrskills.suites.ivispar.boards import SETS, Puzzle, draw, limit, palette
from clevrskills.suites.ivispar.env import BoardEnv, ListingEnv
from clevrskills.suites.ivispar.interface import INDEX, TEXT
from clevrskills.suites.ivispar.original import export_config, read_config
from clevrskills.suites.ivispar.views import VIEWS
from clevrskills.suites.symbolic import SymbolicEpisode, SymbolicSuite
from clevrskills.tasks.bank import WordingSet
from clevrskills.tasks.bank_files import read_banks

EPISODE_TAGS = ["k", "c1", "c2", "n", "set"]
"""Names of the tags of episodes."""


def banks() -> Mapping[str, WordingSet]:
    """Return the sentence of each task."""
    return read_banks(Path(__file__).with_name("wordings"))


@dataclass(frozen=True)
class BoardTask:
    """Settings of a symbolic task."""

    level: str  # level of the task
    frozen: Mapping[str, int]  # number of frozen episodes by split
    predicates: Sequence[str]  # names of the goal's predicates
    limit: str  # description of the turn limit
    stream: str = "geoms"  # key of the random stream
    tiles: bool = False  # whether the pieces are numbered tiles
    turns: int = 0  # turn limit; 0: that of the set
    env: type[BoardEnv] = BoardEnv  # class of the environments

    def set_of(self, split: str) -> str:
        """Return the name of the set of a split."""
        return "tiles" if self.tiles else split if split in SETS else "base"

    def info(self, task: str) -> TaskInfo:
        """Return the description of the task."""
        return TaskInfo(
            self.level,
            banks()[task].paper,
            splits=self.frozen,
            interfaces={TEXT.name: TEXT, INDEX.name: INDEX},
            limit=self.limit,
            views={k: "text" if view.base == "text" else "image" for k, view in VIEWS.items()},
            details={
                "id": env_id(task, "IVispar"),
                "predicates": list(self.predicates),
                "max_steps": 0,
                "wordings": 1,
                "episode_tags": EPISODE_TAGS,
            },
        )


_TRAIN = {"train": 100, "val": 50}
TASKS = {
    "geoms": BoardTask(
        "board",
        {**_TRAIN, "base": 300, "interference": 140, "sizes": 120, "pilot": 21},
        ("set", "at_cell"),
        "20 turns in train, val and base, else max(2 c1, c1 + 4)",
    ),
    "tiles": BoardTask(
        "board",
        {**_TRAIN, "base": 100},
        ("set", "at_cell"),
        "max(2 c1, c1 + 4) turns",
        stream="tiles",
        tiles=True,
    ),
    "listing": BoardTask(
        "perception", {**_TRAIN, "base": 300}, ("listed",), "1 turn", turns=1, env=ListingEnv
    ),
}


class SymbolBoards(SymbolicSuite):
    """Suite of sliding geoms, numbered tiles and listings; for its arguments see
    :class:`~clevrskills.suites.symbolic.SymbolicSuite`.
    """

    name, title = "ivispar", "iVISPAR in symbols"
    env = BoardEnv
    tasks = {key: task.info(key) for key, task in TASKS.items()}  # noqa: RUF012

    def make(self, config: EnvConfig) -> Any:
        check_names(**{f"view of {config.task}": (config.cameras, VIEWS)})
        return TASKS[config.task].env(config, self.tasks[config.task].level)

    def draw_episode(self, task: str, split: str, seed: int, index: int) -> SymbolicEpisode:
        of = TASKS[task].set_of(split)
        entropy = (seed, crc32(TASKS[task].stream.encode()), crc32(split.encode()))
        puzzle = draw(of, seed, np.random.default_rng(entropy))
        return self.episode(task, split, index, seed, of, puzzle)

    def read_original(self, task: str, split: str, folder: Path) -> Sequence[SymbolicEpisode]:
        files = sorted(folder.glob("*.json"))
        if not files:
            raise ClevrSkillsError(f"{folder} has no *.json files; pass a folder of puzzles")
        puzzles = [(path, read_config(path)) for path in files]
        for path, puzzle in puzzles:
            if (puzzle.geoms[0][1] == "tile") != TASKS[task].tiles:
                raise ClevrSkillsError(f"{path} is not a puzzle of the task {task}")
        colors, shapes = palette("base")
        basic = all(
            color in colors and shape in shapes for _, p in puzzles for color, shape in p.geoms
        )
        of = TASKS[task].set_of(split)
        of = of if basic or of in ("sizes", "pilot", "tiles") else "pilot"  # has all pieces
        return [
            self.episode(task, split, index, index, of, puzzle)
            for index, (_, puzzle) in enumerate(puzzles)
        ]

    def write_original(self, episode: SymbolicEpisode) -> tuple[str, Mapping[str, Any]]:
        data = export_config(episode)
        return f"{data['config_instance_id']}.json", data

    def episode(
        self, task: str, split: str, index: int, seed: int, of: str, puzzle: Puzzle
    ) -> SymbolicEpisode:
        """Return the episode of a puzzle of a set."""
        turns = TASKS[task].turns or limit(of, puzzle.c1)
        tags = {"k": len(puzzle.geoms), "c1": puzzle.c1, "c2": puzzle.c2, "n": puzzle.size}
        start = {"set": of, "puzzle": puzzle.to_json()}
        text = self.tasks[task].sentence
        return SymbolicEpisode(task, split, index, seed, text, start, turns, {**tags, "set": of})
