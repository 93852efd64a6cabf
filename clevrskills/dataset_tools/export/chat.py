"""Conversations for fine-tuning language models: the messages of an evaluation with detailed
feedback at each recorded turn, and the demonstrated action as the reply.

A line of ``conversations.jsonl`` has ``id``, ``messages`` (``role`` and ``content`` with
placeholders ``<image>``) and ``images``, the image files in order.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from clevrskills.core.interface import Interface, feedback_text
from clevrskills.core.policy import ImagePart, Message, PromptInput, TextAction
from clevrskills.core.suite import Prompting, Suite, find_interface, load_suite
from clevrskills.dataset_tools.dataset import Episode
from clevrskills.dataset_tools.export.selection import Selection
from clevrskills.dataset_tools.record.turns import encoded

FILE = "conversations.jsonl"
IMAGE = "<image>"
"""Placeholder of an image in a text."""


def write(selection: Selection, out: Path) -> None:
    """Write conversations and images of episodes of turns."""
    suite = load_suite(selection.header.suite)
    interface = find_interface(suite, selection.header.interface)
    with (out / FILE).open("w", encoding="utf-8") as file:
        for episode in selection:
            files = _Images(out, f"images/{episode.id}")
            for turn, messages, reply in requests(episode, suite, interface):
                files.named = []
                turns = [{"role": m.role, "content": files.text(m)} for m in messages]
                turns.append({"role": "assistant", "content": reply})
                row = {"id": f"{episode.id}/{turn}", "messages": turns, "images": files.named}
                file.write(json.dumps(row, ensure_ascii=False) + "\n")


def requests(
    episode: Episode, suite: Suite, interface: Interface
) -> Iterator[tuple[int, list[Message], str]]:
    """Yield index, messages and reply of each turn, in the format of the suite's prompter if there
    is one, without the demonstrated mistakes.
    """
    prompter = suite.prompter(interface, {}) if isinstance(suite, Prompting) else None
    prompt = episode.prompt
    about = PromptInput(prompt["plain"], {}, int(episode.info["seed"]), prompt.get("about", {}))
    if prompter is not None:
        prompter.begin(about)
    shown = max(1, prompter.history if prompter else 1)
    history: list[tuple[Any, TextAction]] = []
    turns: list[dict[str, Any]] = []
    for k, row in enumerate(episode.turns.to_dict("records")):
        seen = {
            "images": {},
            "proprioception": {},
            "prompt": prompt["plain"],
            "step": k,
            "turn": k,
            "turns": tuple(turns),
            "feedback": "detailed",
            "views": episode.views(k),
        }
        action, plan = row["action"], tuple(str(row["instruction"]).split("; "))
        plan = plan if plan[0] == action else ()  # not all suites have plans
        reply = action if prompter is None else prompter.reply(action, plan)
        if not row["failed"]:  # demonstrated mistakes are not to be learned
            if prompter is None:
                messages = plain_messages(seen, interface)
            else:
                messages = prompter.messages(seen, history)
            yield k, messages, reply
        facts = {name: row[name] for name in ("action", "ok", "code")}
        message = feedback_text(bool(row["ok"]), row["message"])
        turns.append({"index": k, **facts, "message": message})
        reply_action = TextAction(action)
        if prompter is not None:
            reply_action = replace(prompter.parse(reply), action=action)
        history = [*history, (seen, reply_action)][-shown:]


def plain_messages(observation: Mapping[str, Any], interface: Interface) -> list[Message]:
    """Return messages without a prompter: task, interface, past turns and current observation."""
    spec = [f"{name}: {json.dumps(value)}" for name, value in interface.spec.items()]
    rules = "\n".join([observation["prompt"], interface.sentence, *spec])
    past = [
        f"Turn {turn['index'] + 1}: {turn['action']} {turn['message']}".rstrip()
        for turn in observation["turns"]
    ]
    parts: list[str | ImagePart] = ["\n".join([*past, "What do you do now?"])]
    for name, view in observation["views"].items():
        shown = view if isinstance(view, str) else ImagePart(name, view)
        parts += [f"{name}:", shown]
    return [Message("system", (rules.strip(),)), Message("user", tuple(parts))]


class _Images:
    """Writer of the images of an episode without duplicates.

    Attributes:
        named: Image files of the current conversation, in order.
    """

    def __init__(self, out: Path, folder: str) -> None:
        self._out, self._folder = out, folder
        self._files: dict[bytes, str] = {}
        self.named: list[str] = []

    def text(self, message: Message) -> str:
        """Return the text of a message with :data:`IMAGE` for each image."""
        words = []
        for part in message.parts:
            if isinstance(part, str):
                words.append(part)
                continue
            data = encoded(part.pixels)
            if data not in self._files:
                file = f"{self._folder}/{len(self._files):03d}.png"
                (self._out / file).parent.mkdir(parents=True, exist_ok=True)
                (self._out / file).write_bytes(data)
                self._files[data] = file
            self.named.append(self._files[data])
            words.append(IMAGE)
        return "\n".join(words)
