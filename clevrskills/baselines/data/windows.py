"""Windows of demonstrations for training, in batches and in a seeded random order.

::

    from torch.utils.data import DataLoader
    sources = [open_source(Path("demos"), config.cameras)]
    windows = Windows(sources, config, DemonstrationFilter(), tokenizer)
    order = SampleOrder(windows, seed=0)
    DataLoader(windows, batch_size=None, sampler=Batches(order, 32), num_workers=2)
"""

import hashlib
import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import Dataset

from clevrskills.baselines.batch import Batch, Observations, scale_images
from clevrskills.baselines.data.packed import PackedSource
from clevrskills.baselines.data.sources import DatasetSource, LeRobotSource, check_learnable
from clevrskills.baselines.prompts import EncodedPrompt, Tokenizer, encode, stack
from clevrskills.baselines.spec import PolicyConfig, PolicySpec
from clevrskills.core.policy import ObservationOptions
from clevrskills.core.suite import IMAGES_ONLY, load_suite, tagged
from clevrskills.dataset_tools.export.statistics import Numbers, as_lists
from clevrskills.errors import ClevrSkillsError
from clevrskills.jobs.arguments import check_names
from clevrskills.jobs.files import to_json

Source = DatasetSource | LeRobotSource | PackedSource
"""Demonstrations in a folder, read in windows."""
_PROMPTS = 256  # greatest number cached by each process
_MEASURED = 2000  # maximum number of demonstrations for statistics


@dataclass(frozen=True)
class DemonstrationFilter:
    """Filter of demonstrations to train on; empty ``tasks`` or ``levels`` match all."""

    tasks: tuple[str, ...] = ()
    levels: tuple[str, ...] = ()
    splits: tuple[str, ...] = ("train",)
    # `multimodal`, or `language`, which leaves out the same tasks as evaluations with text prompts
    prompt: str = "multimodal"

    def choose(self, sources: Sequence[Source]) -> list[tuple[int, int]]:
        """Return the indices of source and demonstration of each match.

        Raises:
            UnknownNameError: There is no demonstration of a task or level.
            ClevrSkillsError: Nothing matches, all splits are held out, or an episode is frozen.
        """
        levels = {task: level for source in sources for task, level in source.levels().items()}
        every = [(k, n, d) for k, s in enumerate(sources) for n, d in enumerate(s.demonstrations)]
        known: dict[str, tuple[Sequence[str], Iterable[str]]] = {
            "task": (self.tasks, levels),
            "level": (self.levels, dict.fromkeys(levels.values())),
        }
        check_names(**{f"{kind} of the demonstrations": names for kind, names in known.items()})
        splits = dict.fromkeys(d.split for *_, d in every)
        if not set(self.splits) & splits.keys():
            raise ClevrSkillsError(
                f"the demonstrations are of the split {', '.join(splits)}, which is held out; "
                f"allowed: {', '.join(self.splits)}"
            )
        left_out = tagged(load_suite(), IMAGES_ONLY) if self.prompt == "language" else ()
        chosen = [
            (k, n)
            for k, n, d in every
            if (not self.tasks or d.task in self.tasks)
            and (not self.levels or levels[d.task] in self.levels)
            and d.split in self.splits
            and d.task not in left_out
        ]
        if not chosen:
            raise ClevrSkillsError("no demonstration matches: name other tasks or data")
        check_learnable(sources[k].demonstrations[n] for k, n in chosen)
        return chosen


def make_spec(
    sources: Sequence[Source], config: PolicyConfig, selection: DemonstrationFilter
) -> PolicySpec:
    """Return the spec of a policy trained on demonstrations: its observations and actions.

    Raises:
        ClevrSkillsError: The sources differ, or nothing matches.
    """
    first = sources[0]
    for name in ("state_parts", "size_px", "look", "robot"):
        for other in sources[1:]:
            one, two = getattr(first, name), getattr(other, name)
            if one != two:
                raise ClevrSkillsError(
                    f"{first.root} and {other.root} differ in {name}: {one} and {two}"
                )
    options = ObservationOptions(
        cameras=config.cameras,
        size_px=first.size_px,
        look=first.look,
        history=config.steps if config.starts_every is None else 1,
        proprioception=config.proprioception,
        prompt=selection.prompt,  # type: ignore[arg-type]
        prompt_images=True,  # as in the windows
    )
    return PolicySpec(options, first.state_parts, _statistics(sources, selection))


def files_of(sources: Sequence[Source], selection: DemonstrationFilter) -> str:
    """Return an identifier of demonstration files by name, size and, where recorded, hash."""
    chosen = selection.choose(sources)
    contents = [sources[source].demonstrations[number].content for source, number in chosen]
    about = [[source.look, source.size_px] for source in sources]
    return hashlib.sha256(to_json([about, contents]).encode()).hexdigest()[:16]


def fingerprint(sources: Sequence[Source], selection: DemonstrationFilter) -> str:
    """Return an identifier of demonstrations, independent of their location."""
    chosen = selection.choose(sources)
    demonstrations = [sources[source].demonstrations[number] for source, number in chosen]
    text = "\n".join(f"{d.id} {d.steps}" for d in demonstrations)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def packed(
    sources: Sequence[Source],
    config: PolicyConfig,
    selection: DemonstrationFilter,
    folder: Path,
    workers: int,
) -> list[PackedSource]:
    """Return the sources with the selected demonstrations packed in a folder.

    Raises:
        ClevrSkillsError: Nothing matches, a file is damaged, or the disk is full.
    """
    chosen, made = selection.choose(sources), []
    for number, source in enumerate(sources):
        assert not isinstance(source, PackedSource)
        one = PackedSource(source, config.cameras, config.image_size, folder)
        one.pack([n for k, n in chosen if k == number], workers)
        made.append(one)
    return made


def _statistics(
    sources: Sequence[Source], selection: DemonstrationFilter
) -> dict[str, dict[str, list[float]]]:
    chosen = selection.choose(sources)
    some = chosen[:: -(-len(chosen) // _MEASURED)]
    state, action = Numbers(), Numbers()
    for source, number in some:
        table = sources[source].read_table(number)
        state.add(table.state[: len(table.actions)])
        action.add(table.actions)
    return as_lists({"state": state.total(), "action": action.total()})


class Windows(Dataset[Batch]):
    """Windows of control steps of demonstrations, at the positions that
    :class:`~clevrskills.baselines.spec.PolicyConfig` defines. ``windows[[3, 1, 4]]`` is a batch.

    Can be pickled and forked.

    Args:
        sources: Sources of the demonstrations.
        config: Configuration of the policy: image size, length and distance of windows.
        selection: Filter of the demonstrations.
        tokenizer: Tokenizer of prompts.

    Attributes:
        tasks: Task of each demonstration.
        counts: Number of windows of each demonstration.

    Raises:
        ClevrSkillsError: Nothing matches.
    """

    def __init__(
        self,
        sources: Sequence[Source],
        config: PolicyConfig,
        selection: DemonstrationFilter,
        tokenizer: Tokenizer,
    ) -> None:
        self._sources, self._config, self._selection = sources, config, selection
        self._tokenizer = tokenizer
        self._prompts: dict[tuple[int, int], EncodedPrompt] = {}
        self._chosen = selection.choose(sources)
        self._numbers = np.array(self._chosen)
        demonstrations = [sources[source].demonstrations[n] for source, n in self._chosen]
        self.tasks = tuple(d.task for d in demonstrations)
        self.counts = np.array([-(-d.steps // (config.starts_every or 1)) for d in demonstrations])
        self._stops = np.cumsum(self.counts)

    def __len__(self) -> int:
        """Return the number of windows."""
        return int(self._stops[-1])

    def __getitem__(self, indices: Sequence[int]) -> Batch:
        """Read a batch of windows, from packed demonstrations all at once. Indices are taken
        modulo the number of windows, see :class:`Batches`.
        """
        places, first = self._places(np.asarray(indices) % len(self))
        chosen, size = self._numbers[places], (self._config.steps, self._config.horizon)
        packed = [source for source in self._sources if isinstance(source, PackedSource)]
        windows, frames = [], []
        if len(packed) < len(self._sources):
            for (source, number), step in zip(chosen.tolist(), first.tolist(), strict=True):
                windows.append(self._sources[source].window(number, step, *size))
                frames.append(self._images(source, number, windows[-1].steps))

            def joined(arrays: Sequence[Any]) -> Tensor:
                return torch.stack([torch.as_tensor(array) for array in arrays])

        else:
            rows = [np.flatnonzero(chosen[:, 0] == k) for k in np.unique(chosen[:, 0])]
            order = torch.from_numpy(np.argsort(np.concatenate(rows)))
            for some in rows:
                source = packed[chosen[some[0], 0]]
                window, images = source.windows(chosen[some, 1], first[some], *size)
                windows.append(window)
                frames.append(images)

            def joined(arrays: Sequence[Any]) -> Tensor:
                tensors = [torch.as_tensor(array) for array in arrays]
                return tensors[0] if len(tensors) == 1 else torch.cat(tensors)[order]

        exists = joined([w.exists for w in windows])
        learned = joined([w.action_exists & ~w.action_failed for w in windows])
        return Batch(
            Observations(
                {c: joined([images[c] for images in frames]) for c in self._config.cameras},
                joined([w.state for w in windows]),
                exists,
            ),
            stack([self._prompt(*self._chosen[place]) for place in places], self._tokenizer.pad),
            joined([w.actions for w in windows]),
            learned & exists[:, :, None],
        )

    def _places(self, indices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the demonstration (B,) and first step (B,) of each window."""
        places = np.searchsorted(self._stops, indices, side="right")
        within = indices - self._stops[places] + self.counts[places]
        if self._config.starts_every is None:
            return places, within - (self._config.steps - 1)
        return places, within * self._config.starts_every

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_prompts": {}}

    def _images(self, source: int, number: int, steps: np.ndarray) -> dict[str, Tensor]:
        """Return scaled frames of a demonstration by camera, (len(steps), 3, S, S) uint8."""
        frames = self._sources[source].frames(number, steps)
        return {c: scale_images(images, self._config.image_size) for c, images in frames.items()}

    def _prompt(self, source: int, number: int) -> EncodedPrompt:
        kept = self._prompts.get((source, number))
        if kept is None:
            read = self._sources[source].prompt(number, self._selection.prompt)
            kept = encode(read, self._tokenizer, self._config.image_size)
            if len(self._prompts) < _PROMPTS:
                self._prompts[source, number] = kept
        return kept


class SampleOrder:
    """Endless random order of windows, in rounds.

    A round has as many windows as there are, with each task that has windows sampled in proportion
    to its weight. Rounds differ; each is a function of the seed and its number alone.

    Args:
        windows: The windows.
        weights: Sampling weights of tasks, 1 for tasks not named. ``None``: all windows are sampled
            equally often.
        seed: Seed of the order.

    Raises:
        ClevrSkillsError: There is no such task, or a weight is not allowed.
    """

    def __init__(
        self, windows: Windows, weights: Mapping[str, float] | None = None, seed: int = 0
    ) -> None:
        names, numbers = np.unique(windows.tasks, return_inverse=True)
        task = np.repeat(numbers.astype(np.int16), windows.counts)
        by_task = {str(name): np.flatnonzero(task == k) for k, name in enumerate(names)}
        filled = [name for name, each in by_task.items() if len(each)]
        self._windows = [by_task[name] for name in filled]
        self._size, self._seed = len(windows), seed
        if weights is None:
            self._shares = np.array([len(w) for w in self._windows]) / self._size
            return
        check_names(**{"task of the demonstrations": (weights, [*by_task])})
        for name, weight in weights.items():
            if not 0.0 <= weight < math.inf:
                raise ClevrSkillsError(f"the weight of {name} must be 0 or more, not {weight}")
        shares = np.array([weights.get(name, 1.0) for name in filled])
        if not shares.sum():
            raise ClevrSkillsError("all tasks have weight 0: give one a positive weight")
        self._shares = shares / shares.sum()

    def __len__(self) -> int:
        """Return the number of windows in a round."""
        return self._size

    def round(self, number: int) -> np.ndarray:
        """Return the windows of a round."""
        generator = np.random.default_rng((self._seed, number))
        stops = np.round(np.cumsum(self._shares) * self._size).astype(int)
        counts = np.diff(stops, prepend=0)
        drawn = [_draw(w, int(n), generator) for w, n in zip(self._windows, counts, strict=True)]
        return generator.permutation(np.concatenate(drawn))


def _draw(windows: np.ndarray, count: int, generator: np.random.Generator) -> np.ndarray:
    """Return ``count`` windows in random order; their frequencies differ by at most 1."""
    passes = [generator.permutation(windows) for _ in range(-(-count // len(windows)))]
    return np.concatenate([*passes, windows[:0]])[:count]


class Batches:
    """Endless sampler of the batches of one process, starting from any batch.

    Indices of windows in batch k are offset by k times the number of windows. An index determines
    all randomness of its window, whichever process loads it.

    Args:
        order: The order of the windows.
        size: Batch size per process, in windows.
        first: Number of the first batch.
        rank: Index of this process.
        processes: Number of processes, which share the order.
    """

    def __init__(
        self, order: SampleOrder, size: int, first: int = 0, rank: int = 0, processes: int = 1
    ) -> None:
        self._order, self._size, self._first = order, size, first
        self._rank, self._processes = rank, processes

    def __iter__(self) -> Iterator[list[int]]:
        count = len(self._order)
        number, at = divmod(self._first * self._processes * self._size, count)
        windows = self._order.round(number)[at:]
        step = self._processes * self._size
        for batch in itertools.count(self._first):
            while len(windows) < step:
                number += 1
                windows = np.concatenate([windows, self._order.round(number)])
            yield (windows[self._rank : step : self._processes] + batch * count).tolist()
            windows = windows[step:]
