"""Tasks on the page of LoHoRavens: image and sentence of each."""

from __future__ import annotations

import re
from typing import Any

from PIL import Image

from clevrskills.core.env_config import EnvConfig
from clevrskills.core.suite import load_suite
from clevrskills.suites.lohoravens.tasks import tasks
from pages import DOCS

PAGE = DOCS / "lohoravens.md"
IMAGES = DOCS / "lohoravens"
MARK = "<!-- tasks -->"
"""Generated text follows it."""
SEED, SPLIT = 0, "test"
IMAGE_PX = (480, 270)


def entry(key: str, env: Any) -> str:
    """Return the entry of a task, for an episode after its reset."""
    task = load_suite("lohoravens").tasks[key]
    low, high = task.details["n_min"]
    moves = f"{low} move" + "s" * (low > 1) if low == high else f"{low}-{high} moves"
    sentence = re.sub(r"( Step by step:) .*", r"\1 …", env.prompt.plain())
    return "\n".join(
        (
            f"### {key}",
            "",
            f"{task.level}, `{task.details['family']}`; {moves}.",
            "",
            f"![{key}](lohoravens/{key}.jpg)",
            "",
            f"*{sentence}*",
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
