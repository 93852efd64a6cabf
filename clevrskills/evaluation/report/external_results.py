"""Result folders of other programs: ``lerobot-eval`` and ``vla-eval``.

Information missing in their files is ``None`` or :data:`NOT_STATED`.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from clevrskills.core.suite import all_levels, load_suite
from clevrskills.errors import ClevrSkillsError
from clevrskills.evaluation.results import (
    RUN_FILE,
    Content,
    EpisodeResult,
    ExternalProgram,
    Run,
    read_content,
)
from clevrskills.jobs.files import storage_errors

NOT_STATED = "not stated"
LEROBOT_FILE = "eval_info.json"
"""File of ``lerobot-eval`` 0.6."""
VLA_EVAL_FILES = "*_aggregate.json"
"""Files of ``vla-eval`` 0.8, one for each benchmark of its configuration."""
VLA_EVAL_RECORDING = "recording-*.sqlite"
VLA_EVAL_CLASS = "ClevrSkillsBenchmark"
_SETTINGS = "the version of the benchmark and other settings"
LEROBOT = ExternalProgram(
    "lerobot-eval",
    ("policy", "split", "which episodes were run", "seeds", "steps", "rewards", _SETTINGS),
)
VLA_EVAL = ExternalProgram("vla-eval", (_SETTINGS,))


def read_any(root: Path) -> Content:
    """Return a run of ``clevrskills evaluate`` or of another program.

    Raises:
        ClevrSkillsError: The folder has neither, or damaged files.
    """
    if not (root / RUN_FILE).is_file():
        if (root / LEROBOT_FILE).is_file():
            return _read(root, [root / LEROBOT_FILE], _lerobot, LEROBOT)
        if files := sorted(root.glob(VLA_EVAL_FILES)):
            return _read(root, files, _vla_eval, VLA_EVAL)
        if recordings := sorted(root.glob(VLA_EVAL_RECORDING)):
            raise ClevrSkillsError(
                f"{root} holds a recording of vla-eval: write its results with "
                f"`vla-eval export {recordings[0]}`"
            )
    return read_content(root)


Levels = Mapping[str, str]
Reader = Callable[[Mapping[str, Any], Levels], Iterator[EpisodeResult]]


def _read(root: Path, files: Sequence[Path], read: Reader, source: ExternalProgram) -> Content:
    levels, policies = all_levels(load_suite()), dict[str, None]()
    found: dict[str, EpisodeResult] = {}
    for file in files:
        with storage_errors(file):
            text = file.read_text(encoding="utf-8")
        try:
            data = json.loads(text)
            results = list(read(data, levels))
            policies[(data.get("server_info") or {}).get("model_server") or NOT_STATED] = None
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise ClevrSkillsError(f"{file} is no result of {source.program}: {error}") from error
        for result in results:
            if result.task not in levels:
                raise ClevrSkillsError(f"{file}: {result.task} is no task of this package")
            if result.id in found:
                raise ClevrSkillsError(
                    f"{root} has several results of {result.id}: name a folder for each run"
                )
            found[result.id] = result
    run = Run(policy=", ".join(policies) or NOT_STATED, label=root.resolve().name)
    return run, tuple(found[name] for name in sorted(found)), source


def _lerobot(data: Mapping[str, Any], levels: Levels) -> Iterator[EpisodeResult]:
    """Yield the results of LeRobot; its groups are tasks."""
    for entry in data["per_task"]:
        task = entry["task_group"]
        for index, success in enumerate(entry["metrics"]["successes"]):
            yield _result(
                task=task,
                level=levels.get(task, NOT_STATED),
                split=NOT_STATED,
                index=index,
                cause="success" if success else "step limit",
                success_once=bool(success),
                success_at_end=bool(success),
            )


def _vla_eval(data: Mapping[str, Any], levels: Levels) -> Iterator[EpisodeResult]:
    """Yield the results of vla-eval; those of this package are in ``metrics``."""
    if not str(data["config"]["benchmark"]).endswith(f":{VLA_EVAL_CLASS}"):
        return
    for task in data["tasks"]:
        for entry in task["episodes"]:
            metrics, error = entry["metrics"], entry.get("failure_reason") or ""
            detail = entry.get("failure_detail") or ""
            yield _result(
                task=task["task"],
                level=levels.get(task["task"], NOT_STATED),
                split=entry.get("split") or NOT_STATED,
                index=int(entry["episode_id"]),
                episode=metrics.get("episode", ""),
                cause="error" if error else metrics["cause"],
                error=": ".join(filter(None, (error, detail))),
                success_once=bool(metrics.get("success")),
                success_at_end=bool(metrics.get("success_at_end")),
                steps=entry.get("steps"),
                **{name: metrics[name] for name in _METRICS & metrics.keys()},
            )


_UNKNOWN = {"seed", "goal_fraction", "total_reward", "progress", "steps", "max_steps"}
_METRICS = (_UNKNOWN - {"steps"}) | {"depth", "depth_of"}


def _result(**known: Any) -> EpisodeResult:
    return EpisodeResult(**{**dict.fromkeys(_UNKNOWN), "episode": "", **known})
