"""Starts of episodes, kept for good: how often each was started, over all commands and shards.

``DIR/starts/<writer>.jsonl`` has a line for each group of episodes, written before the group is
handed out, and one for the starts that are withdrawn, as a signal ended the whole command.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from clevrskills.errors import DamagedError
from clevrskills.evaluation.results import allowed
from clevrskills.jobs.journal import Journal, Record, read_lines
from clevrskills.jobs.process_setup import now, worker_name
from clevrskills.jobs.run_folder import locked

STARTS_DIR = "starts"


@dataclass(frozen=True, slots=True)
class StartsLine(Record):
    """A line of the file."""

    episodes: Sequence[str]  # names of the episodes
    time: str  # when, ISO 8601, UTC
    command: str  # host, process and beginning of the command that started them
    withdrawn: bool = False  # whether the last starts of these episodes do not count


class Starts:
    """Record of the starts of a run.

    Starts are withdrawn for as many signals as second starts are allowed: who stops a run whenever
    an episode goes badly would have free restarts.

    Args:
        root: Folder of the run.
        writer: Name of the writer.
        episodes: Number of the run's episodes.
        known: Starts that results state, by name of the episode; the counts are no lower.

    Raises:
        DamagedError: A line cannot be read.
        StorageError: The disk refused, here or in any method.
    """

    def __init__(self, root: Path, writer: str, episodes: int, known: Mapping[str, int]) -> None:
        self._root, self._writer, self._command = root, writer, f"{worker_name()} {now()}"
        self._counts, self._writers = Counter[str](), dict[str, str]()
        signals = allowed(episodes)
        paths = sorted((root / STARTS_DIR).glob("*.jsonl"))
        lines = [(p.stem, line) for p in paths for line in read_lines(p, StartsLine.from_json)]
        for name, line in sorted(lines, key=lambda pair: pair[1].time):
            if not line.withdrawn:
                self._counts.update(line.episodes)
                self._writers |= dict.fromkeys(line.episodes, name)
            elif signals:
                signals -= 1
                self._counts.subtract(line.episodes)
        self._counts |= Counter(known)  # the higher one of each
        self._journal = Journal(root / STARTS_DIR / f"{writer}.jsonl")

    def count(self, episode: str) -> int:
        """Return how often an episode was started."""
        return self._counts[episode]

    def ended(self, episode: str) -> bool:
        """Return whether the command that started an episode last has come to its end."""
        writer = self._writers.get(episode, self._writer)
        if writer == self._writer:
            return True
        try:
            with locked(self._root, writer):
                return True
        except DamagedError:
            return False

    def add(self, episodes: Sequence[str]) -> None:
        """Record that episodes are started; it is on the disk when this returns."""
        self._journal.append(StartsLine(episodes, now(), self._command).to_json())
        self._counts.update(episodes)

    def withdraw(self, episodes: Sequence[str]) -> None:
        """Record that the last starts of episodes do not count."""
        self._journal.append(StartsLine(episodes, now(), self._command, True).to_json())
