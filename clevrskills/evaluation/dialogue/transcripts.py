"""Transcript files in the folder of a run; ``clevrskills.agents.transcript`` has their format."""

import json
from pathlib import Path
from typing import Any

from clevrskills.errors import DamagedError
from clevrskills.evaluation.env_pool import EpisodeRef
from clevrskills.evaluation.rollout import PolicyRollout
from clevrskills.jobs.files import storage_errors, to_json, write_whole
from clevrskills.jobs.journal import read_lines

TRANSCRIPTS_DIR = "transcripts"
VERSION = 1


def transcript_path(root: Path, episode: str) -> Path:
    """Return the path of the transcript of an episode."""
    return root / TRANSCRIPTS_DIR / f"{episode}.jsonl"


def write_transcript(root: Path, ref: EpisodeRef, rollout: PolicyRollout) -> None:
    """Write the transcript of an episode, unless it is empty or a counted result has one.

    Raises:
        StorageError: The file cannot be written.
    """
    if not rollout.transcript or ref.counts:
        return
    path, episode = transcript_path(root, ref.id), rollout.episode
    head = {
        "transcript": VERSION,
        **{name: getattr(ref, name) for name in ("task", "split", "index", "repeat")},
        "drawn_from": ref.seed,
        "task_args": ref.task_args,
        "episode": episode.content_hash,
        "policy_seed": rollout.prompt.seed,
    }
    with storage_errors(path):
        path.parent.mkdir(exist_ok=True)
    write_whole(path, "".join(f"{to_json(line)}\n" for line in (head, *rollout.transcript)))


def read_transcript(path: Path) -> tuple[EpisodeRef, list[dict[str, Any]]]:
    """Return the episode of a transcript, and its turns.

    Raises:
        DamagedError: A line is invalid.
    """
    refs = list[EpisodeRef]()

    def parse(text: bytes) -> dict[str, Any]:
        line: dict[str, Any] = json.loads(text)
        try:
            if not refs:
                place = line["task"], line["split"], line["index"], line["drawn_from"]
                refs.append(EpisodeRef(*place, line["task_args"], repeat=line["repeat"]))
            elif not (isinstance(line["action"], str) and isinstance(line["stop"], bool)):
                raise ValueError("a turn without an action")
        except (KeyError, TypeError) as error:
            raise ValueError(f"damaged line: {error!r}") from error
        return line

    turns = [*read_lines(path, parse)][1:]
    if not refs:
        raise DamagedError(f"{path} is damaged: it is empty")
    return refs[0], turns
