"""Tasks on the page of LoHoRavens: image, sentence and goal tree of each, from the code."""

from __future__ import annotations

from typing import Any

from PIL import Image

from clevrskills.core.env_config import EnvConfig
from clevrskills.core.goal.logical import Keeping
from clevrskills.core.goal.predicate import Predicate
from clevrskills.core.goal.tree import nodes
from clevrskills.core.suite import load_suite
from clevrskills.suites.lohoravens.tasks import tasks
from pages import DOCS

PAGE = DOCS / "lohoravens.md"
IMAGES = DOCS / "lohoravens"
MARK = "<!-- tasks -->"
"""Behind it stands what is written here."""
SEED, SPLIT = 0, "test"
IMAGE_PX = (480, 270)


def entry(key: str, env: Any) -> str:
    """What is told of a task, by an episode of it that has begun."""
    task = load_suite("lohoravens").tasks[key]
    low, high = task.details["n_min"]
    moves = f"{low}" if low == high else f"{low} to {high}"
    tree, goal = [], env.goal

    def said(predicate: Predicate) -> str:
        return str(env.prompt.plain(predicate.describe(env.world)))

    for node in nodes(env.goal):
        if node.active:
            told = "" if node.leaf is None else f": {said(node.predicate)}"
            tree.append(f"{'  ' * node.depth}{node.predicate.name}{told}")
    if isinstance(goal, Keeping):
        kept = [*goal.kept.leaves()]
        tree += [f"  kept, {leaf.name}: {said(leaf)}" for leaf in kept]
    return "\n".join(
        (
            f"### {key}",
            "",
            f"{task.level}, family `{task.details['family']}`, `{task.details['id']}`; asks for "
            f"{', '.join(task.details['capabilities'])}; {moves} moves, limit {task.limit}.",
            "",
            f"![{key}](lohoravens/{key}.jpg)",
            "",
            f"*{env.prompt.plain()}*",
            "",
            "```text",
            *tree,
            "```",
            "",
        )
    )


def write() -> None:
    """Write the entries and images of all tasks."""
    suite, entries = load_suite("lohoravens"), []
    IMAGES.mkdir(exist_ok=True)
    for key in tasks():
        env: Any = suite.make(EnvConfig(key, SPLIT, cameras=("top",)))
        env.reset(options={"episode": suite.draw(key, SPLIT, SEED)})
        image = Image.fromarray(env.capture()["top"]).resize(IMAGE_PX, Image.Resampling.LANCZOS)
        image.save(IMAGES / f"{key}.jpg", quality=80)
        entries.append(entry(key, env))
        env.close()
    head = PAGE.read_text(encoding="utf-8").partition(MARK)[0]
    PAGE.write_text(f"{head}{MARK}\n\n" + "\n".join(entries), encoding="utf-8")
