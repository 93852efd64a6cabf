"""Streaming statistics of features, by episode and over all episodes.

All are exact but the quantiles of numbers over all episodes, which use every ``stride``-th row.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from clevrskills.errors import DamagedError

QUANTILES = {"q01": 0.01, "q10": 0.10, "q50": 0.50, "q90": 0.90, "q99": 0.99}
Stats = dict[str, np.ndarray]
_MAX_SAMPLE = 1 << 18  # rows

Moments = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
"""Mean, sum of squared deviations, minimum and maximum, each (D,)."""


def sample_stride(rows: int) -> int:
    """Return the distance of the rows sampled for quantiles, a power of two."""
    return 1 << max(0, -(-rows // _MAX_SAMPLE) - 1).bit_length()


class Numbers:
    """Statistics of blocks of rows.

    Args:
        first: Index of the first row in the dataset.
        stride: Distance of sampled rows.
    """

    def __init__(self, first: int = 0, stride: int = 1) -> None:
        self._first, self._stride = first, stride
        self._count = 0
        self._moments: Moments | None = None
        self._sample: list[np.ndarray] = []  # rows whose index is a multiple of ``stride``

    def add(self, rows: np.ndarray) -> Stats:
        """Add rows (N, D); return their statistics, each (D,), ``count`` (1,)."""
        rows = rows.astype(np.float64)
        mean = rows.mean(0)
        moments = mean, ((rows - mean) ** 2).sum(0), rows.min(0), rows.max(0)
        start = -(self._first + self._count) % self._stride
        self._take(len(rows), moments, rows[start :: self._stride])
        return _stats(len(rows), moments, rows)

    def state(self) -> Stats:
        """Return the state for :meth:`merge`."""
        return {
            "place": np.array([self._first, self._stride, self._count]),
            "moments": np.stack(self._moments or ()),
            "sample": np.concatenate(self._sample),
        }

    def merge(self, state: Stats) -> None:
        """Add the rows of another state."""
        first, stride, count = state["place"].tolist()
        numbers = np.arange(len(state["sample"])) * stride + first + -first % stride
        mean, squares, low, high = state["moments"]
        sample = state["sample"][numbers % self._stride == 0]
        self._take(count, (mean, squares, low, high), sample)

    def total(self) -> Stats:
        """Return the statistics of all rows."""
        assert self._moments is not None
        return _stats(self._count, self._moments, np.concatenate(self._sample))

    def _take(self, count: int, moments: Moments, sample: np.ndarray) -> None:
        mean, squares, low, high = moments
        nothing = np.zeros_like(mean)
        before, deviation, least, greatest = self._moments or (nothing, nothing, low, high)
        total = self._count + count
        shift = mean - before  # Chan et al. 1983, pairwise variance
        self._moments = (
            before + shift * (count / total),
            deviation + squares + shift**2 * (self._count * count / total),
            np.minimum(least, low),
            np.maximum(greatest, high),
        )
        self._count = total
        self._sample.append(sample)


def _stats(count: int, moments: Moments, sample: np.ndarray) -> Stats:
    mean, squares, low, high = moments
    quantiles = np.quantile(sample, list(QUANTILES.values()), axis=0)
    return {
        "min": low,
        "max": high,
        "mean": mean,
        "std": np.sqrt(squares / count),
        "count": np.array([count]),
        **dict(zip(QUANTILES, quantiles, strict=True)),
    }


class Images:
    """Statistics of image colors in [0, 1]."""

    def __init__(self) -> None:
        self._counts = np.zeros((3, 256), np.int64)
        self._images = 0

    def add(self, images: Iterable[np.ndarray]) -> Stats:
        """Add images (H, W, 3) uint8; return their statistics, each (3, 1, 1), ``count`` (1,)."""
        part = Images()
        for image in images:
            part._images += 1
            for channel in range(3):
                values = np.ascontiguousarray(image[..., channel]).reshape(-1)
                part._counts[channel] += np.bincount(values, minlength=256)
        self._counts += part._counts
        self._images += part._images
        return part.total()

    def total(self) -> Stats:
        """Return the statistics of all images."""
        levels = np.arange(256) / 255
        pixels = self._counts[0].sum()
        shares, reached = self._counts / pixels, self._counts.cumsum(1)
        mean = shares @ levels
        values = {
            "min": levels[(self._counts > 0).argmax(1)],
            "max": levels[255 - (self._counts[:, ::-1] > 0).argmax(1)],
            "mean": mean,
            "std": np.sqrt(np.maximum(shares @ levels**2 - mean**2, 0)),
            **{n: levels[(reached < round(q * pixels, 6)).sum(1)] for n, q in QUANTILES.items()},
        }
        stats = {name: value.reshape(3, 1, 1) for name, value in values.items()}
        return {**stats, "count": np.array([self._images])}

    def state(self) -> Stats:
        """Return the state for :meth:`merge`."""
        return {"counts": self._counts, "images": np.array([self._images])}

    def merge(self, state: Stats) -> None:
        """Add the images of another state."""
        self._counts += state["counts"]
        self._images += int(state["images"][0])


class Statistics:
    """Statistics of all features of a dataset with some rows, or of a part from row ``first``."""

    def __init__(self, rows: int, first: int = 0) -> None:
        numbers = partial(Numbers, first, sample_stride(rows))
        self._numbers: defaultdict[str, Numbers] = defaultdict(numbers)
        self._images: defaultdict[str, Images] = defaultdict(Images)

    def save(self, path: Path) -> None:
        """Write the state into a file."""
        features: dict[str, Numbers | Images] = {**self._numbers, **self._images}
        arrays = {
            f"{name}:{key}": value
            for name, feature in features.items()
            for key, value in feature.state().items()
        }
        np.savez(path, **arrays)

    def merge(self, path: Path) -> None:
        """Add the state in a file.

        Raises:
            DamagedError: The file is missing or damaged.
        """
        states: defaultdict[str, Stats] = defaultdict(dict)
        try:
            with np.load(path, allow_pickle=False) as arrays:
                for name in arrays.files:
                    feature, _, key = name.rpartition(":")
                    states[feature][key] = arrays[name]
        except (OSError, ValueError) as error:
            raise DamagedError.of(path, error) from error
        for feature, state in states.items():
            features: Mapping[str, Numbers | Images]
            features = self._images if "images" in state else self._numbers
            features[feature].merge(state)

    def add_numbers(self, columns: Mapping[str, Any]) -> dict[str, Stats]:
        """Add columns (N,) or (N, D) of an episode, without lists; return their statistics."""
        return {
            name: self._numbers[name].add(values.reshape(len(values), -1))
            for name, values in columns.items()
            if isinstance(values, np.ndarray)
        }

    def add_images(self, name: str, images: Iterable[np.ndarray]) -> Stats:
        """Add images of an episode, and return their statistics, each (3, 1, 1)."""
        return self._images[name].add(images)

    def total(self) -> dict[str, Stats]:
        """Return the statistics of all features."""
        features: dict[str, Numbers | Images] = {**self._numbers, **self._images}
        return {name: feature.total() for name, feature in features.items()}


def as_lists(stats: Mapping[str, Stats]) -> dict[str, dict[str, list]]:
    """Return statistics as JSON data."""
    return {key: {name: value.tolist() for name, value in of.items()} for key, of in stats.items()}
