import numpy as np

from clevrskills.dataset_tools.export import statistics
from clevrskills.dataset_tools.export.statistics import (
    QUANTILES,
    Images,
    Numbers,
    Statistics,
    sample_stride,
)


def blocks(count: int) -> list[np.ndarray]:
    """Rows of three numbers of different spread, in blocks of different length."""
    rng = np.random.default_rng(0)
    spread = np.array([1.0, 100.0, 1e-3])
    return [rng.normal(size=(rng.integers(1, 50), 3)) * spread + 7 for _ in range(count)]


def test_numbers() -> None:
    numbers, parts = Numbers(), blocks(40)
    for part in parts:
        stats = numbers.add(part)
        np.testing.assert_allclose(stats["mean"], part.mean(0))
        np.testing.assert_allclose(stats["std"], part.std(0))
        assert stats["count"] == [len(part)]
    rows, total = np.concatenate(parts), numbers.total()
    assert total["count"] == [len(rows)]
    for name, value in {"mean": rows.mean(0), "std": rows.std(0)}.items():
        np.testing.assert_allclose(total[name], value, rtol=1e-10)
    np.testing.assert_array_equal(total["min"], rows.min(0))
    np.testing.assert_array_equal(total["max"], rows.max(0))
    for name, share in QUANTILES.items():
        np.testing.assert_allclose(total[name], np.quantile(rows, share, axis=0))


def test_quantiles_of_many_rows_come_from_an_even_sample(monkeypatch) -> None:
    monkeypatch.setattr(statistics, "_MAX_SAMPLE", 1000)
    assert [sample_stride(rows) for rows in (1000, 1001, 2000, 2001, 20_000)] == [1, 2, 2, 4, 32]
    numbers = Numbers(stride=32)
    for start in range(0, 20_000, 770):  # parts, sampled as if there were fewer rows
        part = Numbers(start, stride=8)
        for first in range(start, min(start + 770, 20_000), 77):
            part.add(np.arange(first, min(first + 77, 20_000), dtype=float)[:, None])
        numbers.merge(part.state())
    np.testing.assert_array_equal(np.concatenate(numbers._sample)[:, 0], np.arange(0, 20_000, 32))
    total = numbers.total()
    assert total["count"] == [20_000] and total["max"] == [19_999]
    np.testing.assert_allclose(total["q90"], 18_000, atol=40)


def test_images() -> None:
    rng = np.random.default_rng(0)
    shot = [rng.integers(10, 240, (8, 6, 3), dtype=np.uint8) // (k + 1) for k in range(5)]
    images = Images()
    images.add(shot[:2])
    stats = images.add(shot[2:])
    assert stats["count"] == [3]
    total, values = images.total(), np.stack(shot) / 255
    assert total["count"] == [5]
    for name, value in {
        "mean": values.mean((0, 1, 2)),
        "std": values.std((0, 1, 2)),
        "min": values.min((0, 1, 2)),
        "max": values.max((0, 1, 2)),
        **{
            name: np.quantile(values, share, axis=(0, 1, 2), method="inverted_cdf")
            for name, share in QUANTILES.items()
        },
    }.items():
        assert total[name].shape == (3, 1, 1)
        np.testing.assert_allclose(total[name].ravel(), value, atol=1e-9)


def test_sentences_have_no_statistics() -> None:
    found = Statistics(2).add_numbers({"a": np.array([True, False]), "b": ["x", "y"]})
    assert list(found) == ["a"]
    assert found["a"]["mean"].tolist() == [0.5] and found["a"]["max"].tolist() == [1.0]
