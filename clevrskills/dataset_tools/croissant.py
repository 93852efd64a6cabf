"""Croissant metadata of datasets for search engines and loaders.

See https://docs.mlcommons.org/croissant (1.0), and its fields on responsible use (RAI 1.0).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clevrskills.assets.tables import read_toml
from clevrskills.dataset_tools.layout import EPISODES_FILE, STEPS_FILE, TURNS_FILE, Header
from clevrskills.jobs.files import to_json

Columns = Mapping[str, tuple[str, str]]
"""Type and meaning of columns, by name."""
_DATA = read_toml(Path(__file__).with_suffix(".toml"))
_CONTEXT, _RAI, _RAI_TURNS = _DATA["context"], _DATA["rai"], _DATA["rai_turns"]
_EPISODES, _STEPS, _TURNS = (
    _DATA["owner"] | _DATA[name] for name in ("episodes", "steps", "turns")
)
FRAMES: Columns = _DATA["frames"]
"""Columns of a LeRobot dataset."""
SOURCES: Columns = _DATA["sources"]
"""Columns of the episodes of a LeRobot dataset, from version 3 on."""
_PARQUET = {"encodingFormat": "application/x-parquet"}


@dataclass(frozen=True)
class Records:
    """Record set of one or several tables."""

    name: str  # name of the record set
    about: str  # description of a row
    files: str  # a file, or a pattern of files, within the dataset
    columns: Columns

    @property
    def kind(self) -> str:
        """Kind of the Croissant resource."""
        return "FileSet" if "*" in self.files else "FileObject"


def native_records(header: Header) -> Iterator[Records]:
    """Yield the record sets of a dataset in the native format."""
    yield Records("episodes", "a row for each episode", EPISODES_FILE, _EPISODES)
    if header.in_turns:
        yield Records("turns", "a row for each turn", f"*/*/{TURNS_FILE}", _TURNS)
    if header.in_steps:
        yield Records("steps", "a row for each control step", f"*/*/{STEPS_FILE}", _STEPS)


def croissant(
    root: Path, header: Header, name: str, description: str, date: str, records: Sequence[Records]
) -> str:
    """Return the metadata of a dataset as JSON-LD; ``date`` is that of the last episode, ISO 8601,
    or empty.
    """
    data = {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "name": name,
        "description": description,
        "conformsTo": [
            "http://mlcommons.org/croissant/1.0",
            "http://mlcommons.org/croissant/RAI/1.0",
        ],
        "license": "https://www.apache.org/licenses/LICENSE-2.0",
        "url": "https://arxiv.org/abs/2411.09052",
        "version": f"{header.format_version}.0.0",
        "datePublished": date or "1970-01-01",
        "citeAs": (
            "Haresh, Dijkman, Bhattacharyya, Memisevic: ClevrSkills: Compositional Language and "
            "Visual Reasoning in Robotics. NeurIPS Datasets and Benchmarks, 2024."
        ),
        "isLiveDataset": False,
        **_RAI,
        **({} if header.in_steps else _RAI_TURNS),
        "distribution": [_resource(root, of) for of in records],
        "recordSet": [_record_set(of) for of in records],
    }
    return to_json(data, indent=1) + "\n"


def _resource(root: Path, records: Records) -> dict[str, Any]:
    """Return the resource of a record set."""
    name = f"{records.name}-files"
    data = {"@type": f"cr:{records.kind}", "@id": name, "name": name, **_PARQUET}
    if records.kind == "FileSet":
        return {**data, "includes": records.files}
    digest = hashlib.sha256((root / records.files).read_bytes()).hexdigest()
    return {**data, "contentUrl": records.files, "sha256": digest}


def _record_set(records: Records) -> dict[str, Any]:
    kind = records.kind[0].lower() + records.kind[1:]
    source = {kind: {"@id": f"{records.name}-files"}}
    return {
        "@type": "cr:RecordSet",
        "@id": records.name,
        "name": records.name,
        "description": records.about,
        "field": [
            {
                "@type": "cr:Field",
                "@id": f"{records.name}/{column}",
                "name": f"{records.name}/{column}",
                "description": meaning,
                "dataType": data_type,
                "source": {**source, "extract": {"column": column}},
            }
            for column, (data_type, meaning) in records.columns.items()
        ],
    }
