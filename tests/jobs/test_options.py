"""Options of dataclasses: types, groups, defaults and bad input."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import pytest

from clevrskills.jobs.options import Positional, Repeated, parse


@dataclass(frozen=True, kw_only=True)
class Optimizer:
    """Optimizer; the defaults are for a CPU."""

    rate: float | None = 0.1
    """Step size; none: it is found."""
    anneal: bool = True
    """Let it fall."""


@dataclass(kw_only=True)
class Places:
    """Places. What follows the title is not shown."""

    names: Positional[tuple[str, ...]] = ()
    """Names."""
    tag: Repeated[int] = ()
    """A tag, 50 % of them odd."""


@dataclass(kw_only=True)
class Args(Places):
    """Do it.

    This is how.
    """

    from_: Path
    """Where it begins."""
    look: Literal["soft", "flat"] | None = None
    """Images."""
    sizes: tuple[int, ...] = (3, 4)
    """Sizes."""
    fast: bool = False
    """Be fast."""
    optimizer: Optimizer = field(default_factory=Optimizer)
    """Optimizer."""


def test_values() -> None:
    assert parse(Args, ["--from", "a"]) == Args(from_=Path("a"))
    words = "x --tag 1 --sizes 5 6 --from=a y --tag -2 --fast --look flat --rate none --no-anneal z"
    assert parse(Args, words.split()) == Args(
        names=("x", "y", "z"),
        tag=(1, -2),
        sizes=(5, 6),
        from_=Path("a"),
        fast=True,
        look="flat",
        optimizer=Optimizer(rate=None, anneal=False),
    )
    assert parse(Args, "--sizes --from a".split()).sizes == ()


def test_help(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as error:
        parse(Args, ["-h"], "it")
    page = capsys.readouterr().out
    assert error.value.code == 0
    assert page.startswith("usage: it --from PATH [NAMES ...]\n\nDo it.\n\nThis is how.\n\nOptions")
    assert "\nPlaces:\n" in page and "\nOptimizer:\n" in page and "not shown" not in page
    for text in ("--look {soft,flat}", "50 % of them", "(default: 3 4)", "--rate FLOAT|none"):
        assert text in page


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("", "the following arguments are required: --from"),
        ("--from a --tag b", "--tag: invalid int value: 'b'"),
        ("--from a --rate b", "--rate: invalid float value: 'b'"),
        ("--from a --fst", "unknown option --fst; did you mean --fast?"),
        ("--from a --fas", "unknown option --fas; did you mean --fast?"),
        ("--form a", "unknown option --form; did you mean --from?"),
        ("--from a --qqq=1", "unknown option --qqq=1; `it --help` lists what there is"),
    ],
)
def test_refusals(words: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as error:
        parse(Args, words.split(), "it")
    assert error.value.code == 2
    assert capsys.readouterr().err == f"it: {message}\n"
