"""How a training went: a line for each update, the same for TensorBoard, and a bar."""

from __future__ import annotations

import json
import time
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from rich.console import Console

from clevrskills.errors import ClevrSkillsError
from clevrskills.jobs.files import to_json, write_whole
from clevrskills.jobs.journal import Journal, read_lines
from clevrskills.jobs.progress import LOG_EVERY_S, bars
from clevrskills.rl.run import PROGRESS_FILE, TENSORBOARD_DIR

RECENT = 100
"""Episodes of which the success is shown beside the bar."""


def read_progress(root: Path) -> list[dict[str, float]]:
    """All lines of a training, in order: ``steps``, ``seconds``, and what was told by name.

    Raises:
        ClevrSkillsError: A line cannot be read.
    """
    path = root / PROGRESS_FILE
    return list(read_lines(path, json.loads)) if path.exists() else []


class Log:
    """Writes down how a training goes.

    Args:
        root: Folder of the training.
        steps: Steps made so far; lines of later ones, which are made again, are removed.

    Raises:
        ClevrSkillsError: TensorBoard is not installed.
        StorageError: The disk refused.
    """

    def __init__(self, root: Path, steps: int) -> None:
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError as error:
            raise ClevrSkillsError(
                "TensorBoard is missing: pip install 'clevrskills[rl]'"
            ) from error
        kept = [to_json(line) + "\n" for line in read_progress(root) if line["steps"] <= steps]
        write_whole(root / PROGRESS_FILE, "".join(kept))
        self._journal = Journal(root / PROGRESS_FILE)
        self._board = SummaryWriter(str(root / TENSORBOARD_DIR), purge_step=steps + 1)

    def add(self, steps: int, seconds: float, told: Mapping[str, float]) -> None:
        """Write what an update told."""
        self._journal.append(to_json({"steps": steps, "seconds": round(seconds, 3), **told}))
        for name, value in told.items():
            self._board.add_scalar(name, value, steps)

    def close(self) -> None:
        """Finish writing."""
        self._board.close()


class Display:
    """Progress on standard error: a bar, success of the last episodes, the rate, the time left.

    Args:
        task: Key of the task.
        steps: Steps made before.
        total_steps: Steps to be made.
    """

    def __init__(self, task: str, steps: int, total_steps: int) -> None:
        self._console = Console(stderr=True)
        self._progress = bars(self._console)
        self._bar = self._progress.add_task(task, total=total_steps, completed=steps, more="")
        self._before, self._total = steps, total_steps
        self._recent: deque[tuple[float, float]] = deque()
        self._began_s = self._logged_s = time.monotonic()

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._progress.stop()

    def update(self, steps: int, told: Mapping[str, Any]) -> None:
        """Show how far it is."""
        if told["episode/count"]:
            self._recent.append((told["episode/count"], told["episode/success_at_end"]))
            while sum(count for count, _ in self._recent) - self._recent[0][0] >= RECENT:
                self._recent.popleft()
        more = self._success() + self._speed(steps)
        self._progress.update(self._bar, completed=steps, more=more)
        if self._progress.disable and time.monotonic() - self._logged_s >= LOG_EVERY_S:
            self._logged_s = time.monotonic()
            self._console.print(
                f"{steps} of {self._total} steps, {more}", highlight=False, soft_wrap=True
            )

    def _success(self) -> str:
        count = sum(count for count, _ in self._recent)
        if not count:
            return ""
        share = sum(count * success for count, success in self._recent) / count
        return f"success {share:.0%} of the last {count:.0f} episodes, "

    def _speed(self, steps: int) -> str:
        per_s = (steps - self._before) / (time.monotonic() - self._began_s)
        minutes = round((self._total - steps) / per_s / 60)
        return f"{per_s:.0f} steps/s, {minutes // 60}:{minutes % 60:02d} h left"
