"""Statistics of features, by episode and over all of them, without keeping the episodes.

Count, mean, standard deviation, minimum and maximum are exact. Quantiles of an episode and of
images are exact too; those of numbers over all episodes come from an even sample of the rows.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

QUANTILES = {"q01": 0.01, "q10": 0.10, "q50": 0.50, "q90": 0.90, "q99": 0.99}
Stats = dict[str, np.ndarray]
_MAX_SAMPLE = 1 << 18  # rows


class Numbers:
    """Statistics of rows of numbers that come in blocks."""

    def __init__(self) -> None:
        self._count = 0
        self._mean = self._squares = self._low = self._high = np.zeros(0)
        self._sample: list[np.ndarray] = []  # every ``stride``-th row
        self._stride = 1

    def add(self, rows: np.ndarray) -> Stats:
        """Take in rows, (N, D).

        Returns:
            The statistics of these rows alone, each (D,); ``count`` is (1,).
        """
        count = len(rows)
        rows = rows.astype(np.float64)
        mean, low, high = rows.mean(0), rows.min(0), rows.max(0)
        squares = ((rows - mean) ** 2).sum(0)
        self._keep(rows)
        if not self._count:
            self._mean, self._squares = np.zeros_like(mean), np.zeros_like(mean)
            self._low, self._high = low, high
        total = self._count + count
        shift = mean - self._mean  # Chan et al. 1983, pairwise variance
        self._squares = self._squares + squares + shift**2 * (self._count * count / total)
        self._mean = self._mean + shift * (count / total)
        self._low, self._high = np.minimum(self._low, low), np.maximum(self._high, high)
        self._count = total
        return _stats(count, mean, squares, low, high, rows)

    def total(self) -> Stats:
        """Return the statistics of all rows so far."""
        sample = np.concatenate(self._sample)
        return _stats(self._count, self._mean, self._squares, self._low, self._high, sample)

    def _keep(self, rows: np.ndarray) -> None:
        first = -self._count % self._stride
        self._sample.append(rows[first :: self._stride])
        while sum(map(len, self._sample)) > _MAX_SAMPLE:
            self._sample = [np.concatenate(self._sample)[::2].copy()]
            self._stride *= 2


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


class Statistics:
    """Statistics of all features of a dataset."""

    def __init__(self) -> None:
        self._numbers: defaultdict[str, Numbers] = defaultdict(Numbers)
        self._images: defaultdict[str, Images] = defaultdict(Images)

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
