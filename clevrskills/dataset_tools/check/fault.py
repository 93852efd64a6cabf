"""Faults of a dataset, and validation against JSON schemas."""

from __future__ import annotations

import functools
import importlib.resources
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator


@dataclass(frozen=True, order=True)
class DatasetFault:
    """Fault found by a check."""

    episode: str  # name of the episode, e.g. `sort/train_00000007`; empty: the whole dataset
    file: str  # file relative to the episode or the dataset; empty: the directory
    what: str  # description

    def __str__(self) -> str:
        return ": ".join(part for part in (self.episode, self.file, self.what) if part)


def schema_faults(name: str, data: Any) -> Iterator[str]:
    """Yield violations of ``schemas/<name>.schema.json`` in ``data``."""
    for error in _validator(name).iter_errors(data):
        place = error.json_path.removeprefix("$").removeprefix(".")
        message = error.message if len(error.message) <= 160 else f"{error.message[:160]} ..."
        yield f"{place}: {message}" if place else message


@functools.cache
def _validator(name: str) -> Draft202012Validator:
    from jsonschema import Draft202012Validator

    folder = importlib.resources.files("clevrskills.dataset_tools.check") / "schemas"
    text = (folder / f"{name}.schema.json").read_text(encoding="utf-8")
    return Draft202012Validator(json.loads(text))
