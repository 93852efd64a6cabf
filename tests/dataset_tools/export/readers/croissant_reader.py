"""Reads a dataset by its croissant.json: `croissant_reader.py DATASET [ROWS]`; prints JSON."""

import json
import logging
import sys
from pathlib import Path

import mlcroissant

messages: list[str] = []


class Keep(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        messages.append(record.getMessage())


logging.getLogger("absl").addHandler(Keep())
dataset = mlcroissant.Dataset(jsonld=Path(sys.argv[1]) / "croissant.json")
found: dict[str, object] = {"messages": messages}
for name in ("episodes", *(sys.argv[2:] or ["steps"])):
    rows = [
        {
            key.partition("/")[2]: value.decode() if isinstance(value, bytes) else value
            for key, value in record.items()
        }
        for record in dataset.records(name)
    ]
    found[name] = rows
print(json.dumps(found, default=lambda value: value.item()))
