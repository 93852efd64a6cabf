"""Transcripts of episodes: recorder of requests, and a model that replays recorded replies.

::

    DIR/transcripts/<episode>.jsonl        a line for the episode, then one for each turn

The line of a turn has ``request`` (hash of all messages), ``messages`` (repeated texts appear as
their hash), ``reply``, ``finish_reason``, ``action``, ``code`` and ``usage``.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from clevrskills.agents.client import Reply
from clevrskills.agents.messages import digest
from clevrskills.core.policy import ConnectionLost, ImagePart, Message, PolicyError, PromptInput
from clevrskills.errors import ClevrSkillsError, DamagedError
from clevrskills.jobs.journal import read_lines

SHORT = 100
"""Maximum length of texts that are repeated rather than replaced by their hash."""


class TranscriptRecorder:
    """Recorder of the requests of an episode."""

    def __init__(self) -> None:
        self._known: set[str] = set()

    def record(self, messages: Sequence[Message]) -> dict[str, Any]:
        """Return the record of a request."""
        request = [{"role": m.role, "parts": [self._part(p) for p in m.parts]} for m in messages]
        return {"request": digest(messages), "messages": request}

    def _part(self, part: str | ImagePart) -> dict[str, str]:
        if isinstance(part, ImagePart):
            return {"image": part.name}
        if len(part) <= SHORT:
            return {"text": part}
        name = hashlib.sha256(part.encode()).hexdigest()[:16]
        if name in self._known:
            return {"same": name}
        self._known.add(name)
        return {"text": part, "hash": name}


class ReplayedModel:
    """Model that replays the replies of transcripts.

    Args:
        folder: Folder of a run, or of its transcripts.

    Raises:
        ClevrSkillsError: The folder has no transcripts, or a damaged one.
    """

    def __init__(self, folder: Path) -> None:
        inner = folder / "transcripts"
        paths = sorted((inner if inner.is_dir() else folder).glob("*.jsonl"))
        if not paths:
            raise ClevrSkillsError(f"{folder} has no transcripts; pass a run of a language model")
        self._paths = {}
        for path in paths:
            head: dict[str, Any] = next(read_lines(path, json.loads), {})
            if "policy_seed" not in head:
                raise DamagedError(f"{path} is not a transcript")
            self._paths[head["policy_seed"]] = path

    def begin(self, prompt: PromptInput, env: Any = None) -> None:
        """Begin the episode of a seed.

        Raises:
            ConnectionLost: The episode has no transcript.
        """
        path = self._paths.get(prompt.seed)
        if path is None:
            raise ConnectionLost("this episode has no transcript")
        _, *turns = read_lines(path, json.loads)
        self._turns, self._path = turns[::-1], path

    def answer(self, messages: Sequence[Message]) -> Reply:
        """Return the reply of the next turn.

        Raises:
            PolicyError: The transcript has ended, or recorded another request.
        """
        if not self._turns:
            raise PolicyError(f"{self._path} ends before the episode does")
        turn: dict[str, Any] = self._turns.pop()
        if turn["request"] != digest(messages):
            raise PolicyError(
                f"{self._path}, turn {turn['turn']}: the request differs from the recorded one"
            )
        return Reply(turn["reply"], turn["usage"], turn.get("finish_reason", ""))
