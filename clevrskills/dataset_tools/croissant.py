"""Croissant metadata: what is in a dataset, for search engines and loaders of the format.

See https://docs.mlcommons.org/croissant (1.0), and its fields on responsible use (RAI 1.0).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
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
_OWNER = {
    "episode": (_TEXT, "name of the episode, also its directory"),
    "task": (_TEXT, "key of the task"),
    "split": (_TEXT, "name of the split"),
    "seed": (_WHOLE, "seed of the episode"),
}
_EPISODES = {
    **_OWNER,
    "level": (_TEXT, "level of the task"),
    "steps": (_WHOLE, "number of control steps, or of turns"),
    "return": (_REAL, "sum of the rewards"),
    "bytes": (_WHOLE, "size of its files"),
}
_STEPS = {
    **_OWNER,
    "step": (_WHOLE, "number of the control step"),
    "reward": (_REAL, "reward of the state after it, on the published scale"),
    "progress": (_REAL, "progress of that state, 0 to 1"),
    "success": (_FLAG, "whether the goal holds in that state"),
    "subtask": (_TEXT, "what is being achieved, in words"),
    "instruction": (_TEXT, "what the arm does for it, in words"),
    "predicate": (_TEXT, "kind of the sub-goal"),
    "skill": (_TEXT, "what solves it"),
    "failed": (_FLAG, "whether the step belongs to an attempt that was given up"),
}
_TURNS = {
    **_OWNER,
    "turn": (_WHOLE, "number of the turn"),
    "action": (_TEXT, "the command"),
    "ok": (_FLAG, "whether the environment did what was asked"),
    "code": (_TEXT, "what came of it"),
    "message": (_TEXT, "the same in words"),
    "reward": (_REAL, "what the turn added to the reward"),
    "progress": (_REAL, "progress of the state after it, 0 to 1"),
    "success": (_FLAG, "whether the goal holds in that state"),
    "state": (_TEXT, "that state, as JSON"),
    "texts": (_TEXT, "what was seen before it in words, by view, as JSON"),
}
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
        "It can be made again, bit for bit, by the version of the package that dataset.json names."
    ),
}


def croissant(root: Path, header: Header, name: str, description: str, date: str) -> str:
    """Return the metadata of a dataset, as JSON-LD.

    Args:
        root: The dataset; ``episodes.parquet`` is there.
        header: Its header.
        name: What it is called.
        description: What it is, in a sentence.
        date: When its last episode was made, ISO 8601; empty: it has none.
    """
    rows = []
    if header.in_turns:
        rows.append(("turns", TURNS_FILE, "a row for each turn", _TURNS))
    if header.in_steps:
        rows.append(("steps", STEPS_FILE, "a row for each control step", _STEPS))
    digest = hashlib.sha256((root / EPISODES_FILE).read_bytes()).hexdigest()
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
        "distribution": [
            {
                "@type": "cr:FileObject",
                "@id": "episodes-file",
                "name": "episodes-file",
                "contentUrl": EPISODES_FILE,
                "encodingFormat": "application/x-parquet",
                "sha256": digest,
            },
            *(
                {
                    "@type": "cr:FileSet",
                    "@id": f"{rows_name}-files",
                    "name": f"{rows_name}-files",
                    "encodingFormat": "application/x-parquet",
                    "includes": f"*/*/{file}",
                }
                for rows_name, file, *_ in rows
            ),
        ],
        "recordSet": [
            _records(
                "episodes", "a row for each episode", "fileObject", "episodes-file", _EPISODES
            ),
            *(
                _records(rows_name, sentence, "fileSet", f"{rows_name}-files", columns)
                for rows_name, _, sentence, columns in rows
            ),
        ],
    }
    return to_json(data, indent=1) + "\n"


def _records(
    name: str, sentence: str, kind: str, source: str, fields: Mapping[str, tuple[str, str]]
) -> dict[str, Any]:
    return {
        "@type": "cr:RecordSet",
        "@id": name,
        "name": name,
        "description": sentence,
        "field": [
            {
                "@type": "cr:Field",
                "@id": f"{name}/{column}",
                "name": f"{name}/{column}",
                "description": meaning,
                "dataType": data_type,
                "source": {kind: {"@id": source}, "extract": {"column": column}},
            }
            for column, (data_type, meaning) in fields.items()
        ],
    }
