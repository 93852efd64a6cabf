"""Statistics of features, by episode and over all of them, without keeping the episodes.

Count, mean, standard deviation, minimum and maximum are exact. Quantiles of an episode and of
images are exact too; those of numbers over all episodes come from an even sample of the rows.
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
_MOMENTS = ("mean", "squares", "low", "high")


def sample_stride(rows: int) -> int:
    """Return the distance of the rows that are sampled for quantiles, a power of two."""
    return 1 << max(0, -(-rows // _MAX_SAMPLE) - 1).bit_length()


class Numbers:
    """Statistics of rows of numbers that come in blocks.

    Args:
        first: Number of the first row among all rows of the dataset.
        stride: Distance of the rows that are sampled.
    """

    def __init__(self, first: int = 0, stride: int = 1) -> None:
        self._first, self._stride = first, stride
        self._count = 0
        self._mean = self._squares = self._low = self._high = np.zeros(0)
        self._sample: list[np.ndarray] = []  # rows whose number is a multiple of ``stride``

    def add(self, rows: np.ndarray) -> Stats:
        """Take in rows, (N, D).

        Returns:
            The statistics of these rows alone, each (D,); ``count`` is (1,).
        """
        rows = rows.astype(np.float64)
        mean, low, high = rows.mean(0), rows.min(0), rows.max(0)
        squares = ((rows - mean) ** 2).sum(0)
        start = -(self._first + self._count) % self._stride
        sample = rows[start :: self._stride]
        self._take(len(rows), sample, mean=mean, squares=squares, low=low, high=high)
        return _stats(len(rows), mean, squares, low, high, rows)

    def state(self) -> Stats:
        """Return what :meth:`merge` of another one takes."""
        return {
            "place": np.array([self._first, self._stride, self._count]),
            **{name: getattr(self, f"_{name}") for name in _MOMENTS},
            "sample": np.concatenate(self._sample),
        }

    def merge(self, state: Stats) -> None:
        """Take in rows that others have seen."""
        first, stride, count = state["place"].tolist()
        numbers = np.arange(len(state["sample"])) * stride + first + -first % stride
        sample = state["sample"][numbers % self._stride == 0]
        self._take(count, sample, **{name: state[name] for name in _MOMENTS})

    def total(self) -> Stats:
        """Return the statistics of all rows so far."""
        sample = np.concatenate(self._sample)
        return _stats(self._count, self._mean, self._squares, self._low, self._high, sample)

    def _take(
        self,
        count: int,
        sample: np.ndarray,
        *,
        mean: np.ndarray,
        squares: np.ndarray,
        low: np.ndarray,
        high: np.ndarray,
    ) -> None:
        if not self._count:
            self._mean, self._squares = np.zeros_like(mean), np.zeros_like(mean)
            self._low, self._high = low, high
        total = self._count + count
        shift = mean - self._mean  # Chan et al. 1983, pairwise variance
        self._squares = self._squares + squares + shift**2 * (self._count * count / total)
        self._mean = self._mean + shift * (count / total)
        self._low, self._high = np.minimum(self._low, low), np.maximum(self._high, high)
        self._count = total
        self._sample.append(sample)


def _stats(
    count: int,
    mean: np.ndarray,
    squares: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    sample: np.ndarray,
) -> Stats:
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
    """Statistics of the colours of images, as fractions of white."""

    def __init__(self) -> None:
        self._counts = np.zeros((3, 256), np.int64)
        self._images = 0

    def add(self, images: Iterable[np.ndarray]) -> Stats:
        """Take in images, each (H, W, 3) uint8.

        Returns:
            The statistics of these alone, each (3, 1, 1); ``count``, of images, is (1,).
        """
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
        """Return the statistics of all images so far."""
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
        """Return what :meth:`merge` of another one takes."""
        return {"counts": self._counts, "images": np.array([self._images])}

    def merge(self, state: Stats) -> None:
        """Take in images that others have seen."""
        self._counts += state["counts"]
        self._images += int(state["images"][0])


class Statistics:
    """Statistics of all features of a dataset, or of a part of it.

    Args:
        rows: Number of rows of the dataset.
        first: Number of the first row of the part.
    """

    def __init__(self, rows: int, first: int = 0) -> None:
        numbers = partial(Numbers, first, sample_stride(rows))
        self._numbers: defaultdict[str, Numbers] = defaultdict(numbers)
        self._images: defaultdict[str, Images] = defaultdict(Images)

    def save(self, path: Path) -> None:
        """Write them into a file."""
        features: dict[str, Numbers | Images] = {**self._numbers, **self._images}
        arrays = {
            f"{name}:{key}": value
            for name, feature in features.items()
            for key, value in feature.state().items()
        }
        np.savez(path, **arrays)

    def merge(self, path: Path) -> None:
        """Take in those of a file, of the next rows.

        Raises:
            DamagedError: It is missing or damaged.
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
        """Take in the columns of an episode, arrays (N,) or (N, D); others have no statistics.

        Returns:
            The statistics of these alone, each (D,), (1,) for single numbers.
        """
        return {
            name: self._numbers[name].add(values.reshape(len(values), -1))
            for name, values in columns.items()
            if isinstance(values, np.ndarray)
        }

    def add_images(self, name: str, images: Iterable[np.ndarray]) -> Stats:
        """Take in images of an episode; returns the statistics of these alone, each (3, 1, 1)."""
        return self._images[name].add(images)

    def total(self) -> dict[str, Stats]:
        """Return the statistics of everything so far."""
        features: dict[str, Numbers | Images] = {**self._numbers, **self._images}
        return {name: feature.total() for name, feature in features.items()}


def as_lists(stats: Mapping[str, Stats]) -> dict[str, dict[str, list]]:
    """Return statistics of all features as plain data."""
    return {key: {name: value.tolist() for name, value in of.items()} for key, of in stats.items()}
