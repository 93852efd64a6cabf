"""``clevrskills card``: the data sheet of a dataset, as its ``README.md``."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clevrskills.core.statistics import wilson
from clevrskills.core.suite import all_levels, all_splits, load_suite, suite_of
from clevrskills.dataset_tools.layout import (
    CARD_FILE,
    CROISSANT_FILE,
    EPISODES_FILE,
    IMAGES_FILE,
    Header,
)
from clevrskills.dataset_tools.manifest import KINDS, Attempt, latest_lines, read_manifest
from clevrskills.dataset_tools.pages import render
from clevrskills.dataset_tools.storage import shard_paths
from clevrskills.errors import ClevrSkillsError
from clevrskills.jobs.files import storage_errors, write_whole
from clevrskills.jobs.options import Positional

if TYPE_CHECKING:
    from clevrskills.core.suite import Suite

MARK = "<!-- written by `clevrskills card`; remove this line to keep your own changes -->"
_SIZES = (1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9)
_SIZE_NAMES = (  # as on the Hugging Face hub
    *("n<1K", "1K<n<10K", "10K<n<100K", "100K<n<1M"),
    *("1M<n<10M", "10M<n<100M", "100M<n<1B", "1B<n<10B"),
)


@dataclass(kw_only=True)
class CardArgs:
    """Write the data sheet of a dataset: its README.md."""

    dataset: Positional[Path]
    """Folder of the dataset."""


def card(args: CardArgs) -> int:
    """Write the card, see :func:`write_card`."""
    print(write_card(args.dataset))
    return 0


def write_card(root: Path) -> Path:
    """Write ``README.md``, ``episodes.parquet`` and ``croissant.json`` of a dataset; an older card
    is replaced.

    Raises:
        ClevrSkillsError: The folder is not a dataset, or has a README.md written by hand.
    """
    path, header, lines = root / CARD_FILE, Header.read(root), _made(root)
    text = card_text(root, lines)
    with storage_errors(path):
        if path.exists() and MARK not in path.read_text(encoding="utf-8"):
            raise ClevrSkillsError(f"{path} was not written by clevrskills: move it away")
    _write_episodes(root, header, lines)
    write_whole(root / CROISSANT_FILE, _croissant(root, header, lines))
    write_whole(path, text)
    return path


def _croissant(root: Path, header: Header, lines: Sequence[Attempt]) -> str:
    from clevrskills.dataset_tools.croissant import croissant, native_records

    tasks = len({line.task for line in lines})
    kind = "robotic manipulation, made in simulation by a scripted oracle"
    if header.in_turns:
        kind = f"the suite {load_suite(header.suite).title}, made by a solver"
    description = (
        f"{len(lines)} demonstrations of {tasks} tasks of {kind} with the Python package "
        "clevrskills."
    )
    date = max((line.ended[:10] for line in lines), default="")
    records = list(native_records(header))
    return croissant(root, header, root.resolve().name, description, date, records)


def _made(root: Path) -> list[Attempt]:
    """Return the manifest line of each existing episode, or a new one if it has none."""
    from clevrskills.dataset_tools.dataset import Dataset

    dataset, lines = Dataset(root), latest_lines(root)
    dataset.check()
    return [
        lines.get(episode.id)
        or Attempt.of(episode.info, files={n: (f.size, "") for n, f in episode.files.items()})
        for episode in dataset
    ]


def card_text(root: Path, made: Sequence[Attempt] | None = None) -> str:
    """Return the card in Markdown, with front matter for the Hugging Face hub; ``made`` has the
    manifest line of each existing episode, by default they are read.
    """
    header = Header.read(root)
    attempts = {(line.task, line.split, line.seed): line for line in read_manifest(root)}
    made = _made(root) if made is None else made
    cameras = _cameras(root, made)
    suite = load_suite(header.suite or suite_of(sorted({line.task for line in made})))
    rows, failures = _rows(made, list(attempts.values()), suite)
    sizes: Counter[str] = Counter()
    for line in made:
        sizes.update({name: size for name, (size, _) in line.files.items()})
    steps = sum(line.steps for line in made)
    dates = sorted(line.ended[:10] for line in attempts.values() if line.ended)
    cpu_s = sum(line.times_s.get("total_cpu", 0.0) for line in attempts.values())
    return render(
        "card.md",
        mark=MARK,
        name=root.resolve().name,
        header=header,
        title=suite.title,
        turns=header.in_turns,
        arm=header.in_steps,
        rows_name="turns" if header.in_turns else "steps",
        images=any(Path(name).name == IMAGES_FILE for name in sizes),
        versions=header.versions,
        renderers=sorted({camera["renderer"] for _, camera in cameras}),
        cameras=list(
            dict.fromkeys(f"{name} {c['width']} x {c['height']} pixels" for name, c in cameras)
        ),
        rows=rows,
        failures=failures,
        kinds=KINDS,
        first=rows[0] if rows else None,
        tasks=len({row["task"] for row in rows}),
        levels=sorted({row["level"] for row in rows}),
        splits=[split for split in all_splits(suite) if any(r["split"] == split for r in rows)],
        episodes=len(made),
        steps=steps,
        size_category=_SIZE_NAMES[sum(steps >= size for size in _SIZES)],
        bytes=sizes.total(),
        size=_size(sizes.total()),
        shards=bool(shard_paths(root)),
        files=[(name, _size(size)) for name, size in sizes.most_common()],
        dates=(dates[0], dates[-1]) if dates else None,
        hours=f"{cpu_s / 3600:.2g}" if cpu_s else None,
    )


def _write_episodes(root: Path, header: Header, lines: Sequence[Attempt]) -> None:
    """Write a table with a row for each existing episode."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    levels = all_levels(load_suite(header.suite or suite_of(sorted({line.task for line in lines}))))
    columns: dict[str, pa.Array] = {
        "episode": pa.array([line.id for line in lines], pa.string()),
        "task": pa.array([line.task for line in lines], pa.string()),
        "level": pa.array([levels.get(line.task, "") for line in lines], pa.string()),
        "split": pa.array([line.split for line in lines], pa.string()),
        "seed": pa.array([line.seed for line in lines], pa.int64()),
        "slot": pa.array([line.slot for line in lines], pa.int32()),
        "attempt": pa.array([line.number for line in lines], pa.int32()),
        "steps": pa.array([line.steps for line in lines], pa.int32()),
        "return": pa.array([line.total_reward for line in lines], pa.float64()),
        "bytes": pa.array([sum(s for s, _ in line.files.values()) for line in lines], pa.int64()),
    }
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table(columns), sink, compression="zstd")
    write_whole(root / EPISODES_FILE, sink.getvalue().to_pybytes())


def _rows(
    there: Sequence[Attempt], attempts: Sequence[Attempt], suite: Suite
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the rows of the tables of tasks and of failures."""
    known = {key: (task.level, task.sentence) for key, task in suite.tasks.items()}
    unknown = "?", "?"
    groups: dict[tuple[str, str, str], tuple[list[Attempt], list[Attempt]]]
    groups = defaultdict(lambda: ([], []))
    for k, lines in enumerate((there, attempts)):
        for line in lines:
            groups[known.get(line.task, unknown)[0], line.task, line.split][k].append(line)
    rows, failures = [], []
    for (level, task, split), (made, group) in sorted(groups.items()):
        solved = sum(line.success for line in group)
        low, high = wilson(solved, len(group)) if group else (0.0, 1.0)
        steps = sum(line.steps for line in made)
        rows.append(
            {
                "level": level,
                "task": task,
                "sentence": known.get(task, unknown)[1],
                "split": split,
                "episodes": len(made),
                "steps": steps,
                "mean_steps": f"{steps / len(made):.0f}" if made else "-",
                "attempts": len(group),
                "rate": f"{solved / len(group):.1%}" if group else "-",
                "interval": f"{low:.0%} - {high:.0%}",
            }
        )
        kinds = Counter(line.kind for line in group if not line.success)
        if kinds:
            counts = [kinds[kind] for kind in KINDS]
            failures.append({"task": task, "split": split, "counts": counts})
    return rows, failures


def _cameras(root: Path, made: Sequence[Attempt]) -> list[tuple[str, dict[str, Any]]]:
    """Return name and metadata of the cameras of the first episode of each task and split."""
    from clevrskills.dataset_tools.dataset import Episode

    first = {(line.task, line.split): line.id for line in reversed(made)}
    described = [Episode(root / name).info.get("cameras", {}) for name in first.values()]
    return [item for cameras in described for item in cameras.items()]


def _size(count: float) -> str:
    """Return a number of bytes with its unit."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} TB"
