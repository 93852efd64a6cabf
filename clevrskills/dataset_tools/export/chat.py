"""Conversations for fine-tuning language models: one for each recorded turn, as they are asked in
an evaluation with detailed feedback, with the demonstrated action as the reply.

``conversations.jsonl`` has a line for each: ``id``, ``messages`` (``role`` and ``content``, in
which ``<image>`` stands for an image) and ``images``, the files that these are, in order.
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
    """Write the conversations of some episodes of turns, their images beside them."""
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
    """Yield for each turn its number, the messages to the model, and the reply that states the
    demonstrated action, as the suite's own prompter has it, or else plainly; mistakes are left out.
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
            "views": episode.seen(k),
        }
        action, plan = row["action"], tuple(str(row["instruction"]).split("; "))
        plan = plan if plan[0] == action else ()  # not all suites say what is left
        reply = action if prompter is None else prompter.reply(action, plan)
        if not row["failed"]:  # of a mistake made on purpose only the repair is to be learned
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
    """Return the messages where a suite has no prompter: the task and the words of the interface,
    past turns with their outcomes, and the present observation.
    """
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
    """The images of an episode, each written once.

    Attributes:
        named: Files of those of the present conversation, in order.
    """

    def __init__(self, out: Path, folder: str) -> None:
        self._out, self._folder = out, folder
        self._files: dict[bytes, str] = {}
        self.named: list[str] = []

    def text(self, message: Message) -> str:
        """Return the text of a message, with :data:`IMAGE` for each image."""
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
