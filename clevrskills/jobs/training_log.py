"""Training log: JSON lines, TensorBoard events and a progress bar."""

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from clevrskills.errors import ClevrSkillsError
from clevrskills.jobs.files import to_json, write_whole
from clevrskills.jobs.journal import Journal, read_lines
from clevrskills.jobs.progress import Display

TENSORBOARD_DIR = "tensorboard"


def read_reports(path: Path) -> list[dict[str, Any]]:
    """Return the reports of a training run, in order.

    Raises:
        DamagedError: A line is damaged.
    """
    return list(read_lines(path, json.loads)) if path.exists() else []


class TrainingLog:
    """Log of a training run; a line has the step, ``seconds`` of training, and the metrics by name.

    Args:
        path: File of the JSON lines; TensorBoard's folder is beside it.
        key: Name of the step count.
        name: Label of the progress bar.
        done: Steps at the start; reports of later steps are removed.
        total: Total number of steps.

    Raises:
        ClevrSkillsError: TensorBoard is not installed.
        StorageError: A write failed.
    """

    def __init__(self, path: Path, key: str, name: str, done: int, total: int) -> None:
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError as error:
            raise ClevrSkillsError(
                "TensorBoard is missing: pip install 'clevrskills[rl]'"
            ) from error
        reports = read_reports(path)
        kept = [report for report in reports if report[key] <= done]
        if len(kept) < len(reports):
            write_whole(path, "".join(to_json(report) + "\n" for report in kept))
        self._key, self._journal = key, Journal(path)
        self._board = SummaryWriter(str(path.parent / TENSORBOARD_DIR), purge_step=done + 1)
        self._display = Display(name, total, done, "steps", per_hour=False)
        self._began_s = time.monotonic() - (kept[-1]["seconds"] if kept else 0.0)

    def __enter__(self) -> Self:
        self._display.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._display.close()
        self._board.close()

    def write(self, step: int, numbers: Mapping[str, float], *more: str) -> None:
        """Log metrics of a step, and show additional words beside the bar."""
        seconds = round(time.monotonic() - self._began_s, 3)
        self._journal.append(to_json({self._key: step, **numbers, "seconds": seconds}))
        for name, value in numbers.items():
            self._board.add_scalar(name, value, step)
        self._display.update(step, *more)
