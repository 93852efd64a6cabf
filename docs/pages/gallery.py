"""Gallery: films of the oracle's episodes, from all suites."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from PIL import Image

from clevrskills.core.suite import load_suite
from clevrskills.dataset_tools.view.gallery import Solved, solve, tiles
from pages import DOCS

PAGE = DOCS / "gallery.md"
FILMS = DOCS / "films"
TILE_PX, FRAMES, FRAME_MS, TURN_MS, HOLD_MS = 192, 20, 160, 500, 1500
"""Size of a film, number of frames, and durations of a frame, a turn and the last frame."""
SHOWN: Mapping[str, Sequence[str]] = {
    "clevrskills": (),
    "lohoravens": (
        *("stack_alternate_colors", "letter_m", "hidden_in_pyramid", "most_odd_stacked"),
        "line_by_color",
    ),
    "ivispar": ("geoms", "tiles", "geoms_arm"),
    "asgardbench": ("cook_egg", "coffee", "clean_mirror", "cook_toast"),
}
"""Tasks on the page, by suite; none: all."""
PAGES = {
    "clevrskills": ("ClevrSkills", "tasks.md"),
    "lohoravens": ("LoHoRavens", "lohoravens.md"),
    "ivispar": ("iVISPAR", "ivispar.md"),
    "asgardbench": ("AsgardBench", "asgardbench.md"),
}
"""Title and page of each suite."""
INTRODUCTION = """\
# Gallery

What does each task look like? The oracle solves one episode of each ClevrSkills task, and of some tasks of the other suites.
`clevrskills gallery` films any task.
"""  # noqa: E501


def shown(suite: str) -> Sequence[str]:
    """Return the tasks of a suite that are on the page."""
    return SHOWN[suite] or tuple(load_suite(suite).tasks)


def film(episode: Solved) -> None:
    """Write the film of an episode, with its name above."""
    height, width = episode.frames[0].shape[:2]
    size = min(height, width)
    top, left = (height - size) // 2, (width - size) // 2
    square = replace(
        episode,
        frames=tuple(f[top : top + size, left : left + size] for f in episode.frames),
    )
    moments = np.unique(np.linspace(0, len(episode.frames) - 1, FRAMES).round().astype(int))
    frames = [Image.fromarray(tiles([square], [int(k)], TILE_PX)[:, :TILE_PX]) for k in moments]
    each_ms = FRAME_MS if len(frames) == FRAMES else TURN_MS
    FILMS.mkdir(exist_ok=True)
    frames[0].save(
        FILMS / f"{episode.key}.webp", save_all=True, append_images=frames[1:], loop=0,
        duration=[*[each_ms] * (len(frames) - 1), HOLD_MS], quality=55, method=6,
    )  # fmt: skip


def draw(seed: int = 0) -> None:
    """Film the tasks of the suites other than ClevrSkills."""
    for name in SHOWN:
        for key in shown(name) if SHOWN[name] else ():
            film(solve(key, seed, suite=load_suite(name)))


def page() -> str:
    """Return the page in Markdown."""
    lines = [INTRODUCTION]
    for name in SHOWN:
        title, path = PAGES[name]
        text = (DOCS / path).read_text(encoding="utf-8")
        lines += [f"## [{title}]({path})", ""]
        for key in shown(name):
            anchor = f"#{key}" if f"# {key}\n" in text else ""
            lines.append(f"[![{key}](films/{key}.webp)]({path}{anchor})")
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"
