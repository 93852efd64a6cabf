"""Permanent record of episode starts over all commands and shards of a run.

``DIR/starts/<writer>.jsonl`` has a line for each group of episodes, written before the group is
assigned to a worker, and a line for starts withdrawn after a signal ended the command.
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
    time: str  # ISO 8601, UTC
    command: str  # host, process and start time of the command
    withdrawn: bool = False  # whether the last starts of these episodes do not count


class Starts:
    """Record of the starts of a run.

    At most as many withdrawals count as second starts are allowed; otherwise interrupting the run
    whenever an episode goes badly would give free restarts.

    Args:
        root: Run folder.
        writer: Name of the writer.
        episodes: Number of episodes of the run.
        known: Starts recorded in results by episode, as lower bounds of the counts.

    Raises:
        DamagedError: A line cannot be read.
        StorageError: Writing failed, here or in any method.
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
        self._counts |= Counter(known)  # maximum of both counts
        self._journal = Journal(root / STARTS_DIR / f"{writer}.jsonl")

    def count(self, episode: str) -> int:
        """Return the number of starts of an episode."""
        return self._counts[episode]

    def ended(self, episode: str) -> bool:
        """Return whether the command that last started an episode has ended."""
        writer = self._writers.get(episode, self._writer)
        if writer == self._writer:
            return True
        try:
            with locked(self._root, writer):
                return True
        except DamagedError:
            return False

    def add(self, episodes: Sequence[str]) -> None:
        """Record the start of episodes on disk."""
        self._journal.append(StartsLine(episodes, now(), self._command).to_json())
        self._counts.update(episodes)

    def withdraw(self, episodes: Sequence[str]) -> None:
        """Withdraw the last starts of episodes."""
        self._journal.append(StartsLine(episodes, now(), self._command, True).to_json())
