"""Frozen episodes: a scene and its prompt as data, which start the same episode anywhere."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from clevrskills.prompt import Prompt
from clevrskills.tasks import Layout


@dataclass(frozen=True)
class EpisodeSpec:
    """An episode as data: it depends on nothing that is drawn.

    Attributes:
        task: Key of the task.
        split: ``train`` or ``test``.
        index: Its number among the frozen episodes of the task and split.
        seed: Seed of the episode, from which the oracle and the simulator draw.
        layout: The bodies with shapes, textures and poses, and what else differs.
        prompt: What is asked for.
        robot: Key of the robot that it was made for.
        task_args: Arguments of the task.
    """

    task: str
    split: str
    index: int
    seed: int
    layout: Layout
    prompt: Prompt
    robot: str = "xarm6"
    task_args: Mapping[str, Any] = field(default_factory=dict)

    @property
    def id(self) -> str:
        """Its name, e.g. ``sort_test_007``."""
        return f"{self.task}_{self.split}_{self.index:03d}"

    def to_json(self) -> dict[str, Any]:
        """Plain JSON data that :meth:`from_json` reads."""
        raise NotImplementedError

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> EpisodeSpec:
        """Read what :meth:`to_json` wrote."""
        raise NotImplementedError

    @property
    def content_hash(self) -> str:
        """SHA-256 of :meth:`to_json`, in hexadecimal."""
        text = json.dumps(self.to_json(), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()
