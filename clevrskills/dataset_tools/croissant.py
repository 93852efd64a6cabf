"""Croissant metadata of datasets for search engines and loaders.

See https://docs.mlcommons.org/croissant (1.0), and its fields on responsible use (RAI 1.0).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clevrskills.dataset_tools.layout import EPISODES_FILE, STEPS_FILE, TURNS_FILE, Header
from clevrskills.jobs.files import to_json

_CONTEXT = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileProperty": "cr:fileProperty",
    "fileObject": "cr:fileObject",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "parentField": "cr:parentField",
    "path": "cr:path",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "samplingRate": "cr:samplingRate",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}
_TEXT, _WHOLE, _REAL, _FLAG = "sc:Text", "sc:Integer", "sc:Float", "sc:Boolean"
Columns = Mapping[str, tuple[str, str]]
"""Type and meaning of columns, by name."""
_OWNER: Columns = {
    "episode": (_TEXT, "name of the episode, also its directory"),
    "task": (_TEXT, "key of the task"),
    "split": (_TEXT, "name of the split"),
    "seed": (_WHOLE, "seed of the episode"),
}
_EPISODES: Columns = {
    **_OWNER,
    "level": (_TEXT, "level of the task"),
    "steps": (_WHOLE, "number of control steps, or of turns"),
    "return": (_REAL, "sum of the rewards"),
    "bytes": (_WHOLE, "size of its files"),
}
_STEPS: Columns = {
    **_OWNER,
    "step": (_WHOLE, "number of the control step"),
    "reward": (_REAL, "reward of the state after it, on the published scale"),
    "progress": (_REAL, "progress of that state, 0 to 1"),
    "success": (_FLAG, "whether the goal holds in that state"),
    "subtask": (_TEXT, "current subgoal, in words"),
    "instruction": (_TEXT, "instruction for the arm, in words"),
    "predicate": (_TEXT, "kind of the subgoal"),
    "skill": (_TEXT, "skill that solves it"),
    "failed": (_FLAG, "whether the step belongs to a failed attempt"),
}
_TURNS: Columns = {
    **_OWNER,
    "turn": (_WHOLE, "number of the turn"),
    "action": (_TEXT, "the command"),
    "ok": (_FLAG, "whether the command succeeded"),
    "code": (_TEXT, "outcome code"),
    "message": (_TEXT, "outcome in words"),
    "reward": (_REAL, "reward of the turn"),
    "progress": (_REAL, "progress of the state after it, 0 to 1"),
    "success": (_FLAG, "whether the goal holds in that state"),
    "state": (_TEXT, "state before the turn, as JSON"),
    "texts": (_TEXT, "text views before the turn, as JSON"),
}
FRAMES: Columns = {
    "episode_index": (_WHOLE, "number of the episode"),
    "frame_index": (_WHOLE, "number of the frame within the episode"),
    "timestamp": (_REAL, "time since the start of the episode in seconds"),
    "task_index": (_WHOLE, "index of the sentence of the task"),
    "subtask_index": (_WHOLE, "index of the sentence of the subgoal"),
    "next.reward": (_REAL, "reward of the state after the action, on the published scale"),
    "next.progress": (_REAL, "progress of that state, 0 to 1"),
    "next.success": (_FLAG, "whether the goal holds in that state"),
    "label.instruction": (_TEXT, "instruction for the arm, in words"),
    "label.failed": (_FLAG, "whether the step belongs to a failed attempt"),
}
"""Columns of a LeRobot dataset."""
SOURCES: Columns = {
    "episode_index": (_WHOLE, "number of the episode"),
    "length": (_WHOLE, "number of frames"),
    "source": (_TEXT, "name of the episode in the dataset that was exported"),
}
"""Columns of the episodes of a LeRobot dataset, from version 3 on."""
_RAI_TURNS = {
    "rai:dataCollection": (
        "Simulated: a solver, which reads the state, solved episodes drawn from seeds. No person "
        "took part."
    ),
    "rai:dataUseCases": "Fine-tuning and testing of agents that plan in words.",
    "rai:dataLimitations": (
        "Small worlds of symbols with one solver's demonstrations; success in them says little of "
        "other worlds."
    ),
}
_RAI = {
    "rai:dataCollection": (
        "Simulated: a scripted oracle, which reads the state of the simulation, solved scenes "
        "drawn from seeds. No person took part."
    ),
    "rai:dataCollectionType": ["Software Collection"],
    "rai:dataCollectionMissingData": (
        "None; starts on which the oracle failed stand in the manifest with the reason."
    ),
    "rai:dataCollectionRawData": (
        "All states of the simulation are kept in the native format; images can be drawn again."
    ),
    "rai:dataPreprocessingProtocol": ["Videos are H.264 (lossy); all numbers are as simulated."],
    "rai:machineAnnotationTools": ["clevrskills"],
    "rai:dataSocialImpact": (
        "Lowers the cost of comparing robot policies. A good score does not make a robot safe."
    ),
    "rai:dataUseCases": (
        "Imitation and offline reinforcement learning; vision-language-action policies; studies of "
        "compositional generalization."
    ),
    "rai:dataLimitations": (
        "Simulation of one table, a suction gripper and rigid bodies; demonstrations of one "
        "scripted oracle; no correlation with real robots is known. Not for judging the safety of "
        "a robot."
    ),
    "rai:dataBiases": (
        "Solved episodes only; starts on which the oracle failed are replaced by others, which the "
        "manifest names. All sentences are English and written by the developers."
    ),
    "rai:personalSensitiveInformation": "None: there are no people in it.",
    "rai:dataAnnotationProtocol": (
        "Labels follow from the simulation and the goal tree of the task; no person annotated."
    ),
    "rai:dataReleaseMaintenancePlan": (
        "It can be made again, bit for bit, by the version of the package that dataset.json names. "
        "A dataset that was published never changes: corrections get a new version."
    ),
}
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
