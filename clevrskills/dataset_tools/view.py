"""``clevrskills view``: one page that shows episodes, complete in itself."""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from clevrskills.errors import ClevrSkillsError

if TYPE_CHECKING:
    import numpy as np

    from clevrskills.dataset_tools.dataset import Dataset, Episode

_PLACEHOLDER = re.compile(r"(\{\w+:\w+\})")
_PICTURE_PX = {"prompt": 128, "keystep": 224, "thumbnail": 96}


@dataclass(kw_only=True)
class ViewArgs:
    """Write one page with videos, annotations on a timeline and reward curves."""

    dataset: Annotated[Path, tyro.conf.Positional]
    """Folder of the dataset."""
    episode: str | None = None
    """Show this episode only, e.g. `sort/train_00000003`."""
    out: Path
    """The page to write, e.g. `page.html`."""
    limit: int = 20
    """Show at most this many episodes, from all tasks in turn."""


def view(args: ViewArgs) -> int:
    """Write the page.

    Returns:
        Exit code, 0.

    Raises:
        ClevrSkillsError: There is no such dataset or episode, or the page cannot be written.
    """
    from clevrskills.dataset_tools.dataset import Dataset
    from clevrskills.dataset_tools.files import storage_errors, write_whole

    if args.limit < 1:
        raise ClevrSkillsError(f"--limit must be at least 1, not {args.limit}")
    dataset = Dataset(args.dataset)
    if not len(dataset):
        raise ClevrSkillsError(f"{args.dataset} has no episodes yet")
    episodes = [dataset.episode(args.episode)] if args.episode else choose(dataset, args.limit)
    with storage_errors(args.out):
        args.out.parent.mkdir(parents=True, exist_ok=True)
    write_whole(args.out, page(episodes, title=args.dataset.resolve().name, total=len(dataset)))
    print(f"{args.out}: {len(episodes)} of {len(dataset)} episodes")
    return 0


def choose(dataset: Dataset, limit: int) -> list[Episode]:
    """At most ``limit`` episodes, from all tasks and splits in turn, in the dataset's order."""
    groups = groupby(range(len(dataset)), key=lambda index: dataset[index].id.rpartition("_")[0])
    ranked = [pair for _, group in groups for pair in enumerate(group)]
    chosen = sorted(index for _, index in sorted(ranked)[:limit])
    return [dataset[index] for index in chosen]


def page(episodes: Sequence[Episode], title: str, total: int) -> str:
    """The page as HTML.

    Args:
        episodes: What to show.
        title: Name of the dataset.
        total: Number of episodes in it.

    Raises:
        DatasetError: A file of an episode is missing or damaged.
    """
    import jinja2

    loader = jinja2.PackageLoader("clevrskills.dataset_tools")
    template = jinja2.Environment(loader=loader, autoescape=True).get_template("view.html")
    cards = [_card(episode) for episode in episodes]
    return template.render(title=title, total=total, cards=cards, episodes=map(_data, episodes))


def _card(episode: Episode) -> dict[str, Any]:
    """What the list of episodes shows of one."""
    pictures = episode.keystep_images()
    return {
        "task": episode.info["task"],
        "seed": episode.info["seed"],
        "split": episode.info["split"],
        "steps": len(episode),
        "success": episode.info["success"],
        "picture": _picture(pictures[-1], "thumbnail") if pictures else None,
    }


def _data(episode: Episode) -> dict[str, Any]:
    """What the page shows of an episode, as JSON data."""
    info, steps = episode.info, episode.steps
    keystep_pictures = iter(episode.keystep_images())
    return {
        "id": episode.id,
        **{k: info[k] for k in ("task", "level", "split", "seed", "robot", "criteria")},
        **{k: info[k] for k in ("success", "steps", "fps", "return", "segments", "goal")},
        "prompt": _prompt_parts(episode),
        "plain": episode.prompt["plain"],
        "videos": {name: _base64(episode.video_path(name)) for name in episode.cameras},
        "reward": steps["reward"].round(4).tolist(),
        "progress": steps["progress"].round(4).tolist(),
        "vacuum": _flags(episode, "vacuum_on"),
        "holding": _flags(episode, "holding"),
        "keysteps": [
            {
                "step": keystep["step"],
                "label": _keystep_label(episode, keystep),
                "picture": _picture(next(keystep_pictures), "keystep")
                if keystep["image"]
                else None,
            }
            for keystep in episode.keysteps
        ],
        "bodies": info["scene"].get("bodies", []),
        "versions": info["versions"],
    }


def _prompt_parts(episode: Episode) -> list[dict[str, str]]:
    """The prompt as ``{"text"}`` and ``{"picture", "name"}`` entries."""
    pictures = {k: _picture(v, "prompt") for k, v in episode.prompt_images().items()}
    parts = (part for part in _PLACEHOLDER.split(episode.prompt["text"]) if part)
    return [
        {"picture": pictures[part], "name": part} if part in pictures else {"text": part}
        for part in parts
    ]


def _keystep_label(episode: Episode, keystep: dict[str, Any]) -> str:
    """The sub-task that was done when a key-step was reached."""
    if keystep["step"] == 0:
        return "Start"
    done = [s for s in episode.segments["subtask"] if s["start"] < keystep["step"]]
    return str(done[-1]["plain"])


def _flags(episode: Episode, name: str) -> list[int]:
    """A yes-no measurement at every step; empty if it was not recorded."""
    return episode.steps[name].astype(int).tolist() if name in episode.steps else []


def _picture(image: np.ndarray, use: str) -> str:
    """A picture (H, W, 3) as a data URI, no larger than its use needs."""
    import io

    from PIL import Image

    size = _PICTURE_PX[use]
    picture = Image.fromarray(image)
    picture.thumbnail((size, size))
    buffer = io.BytesIO()
    picture.save(buffer, "JPEG", quality=88)
    return "data:image/jpeg;base64," + base64.b64encode(buffer.getvalue()).decode()


def _base64(path: Path) -> str:
    from clevrskills.dataset_tools.layout import DatasetError

    try:
        return base64.b64encode(path.read_bytes()).decode()
    except OSError as error:
        raise DatasetError(f"{path} cannot be read: {error.strerror}") from error
