"""Page of episodes of turns: what was seen at each, side by side, and what came of the command."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from clevrskills.dataset_tools.pages import render
from clevrskills.dataset_tools.view.page_data import data_uri, facts, jpeg

if TYPE_CHECKING:
    from clevrskills.dataset_tools.dataset import Episode


def turns_page(
    episodes: Sequence[Episode],
    title: str,
    total: int,
    links: Mapping[str, str | None] | None = None,
) -> str:
    """A page with some episodes, as HTML.

    Args:
        episodes: What to show.
        title: Name of the dataset.
        total: Number of episodes in it.
        links: Pages of the ``index`` and of the ``previous`` and ``next`` episode.

    Raises:
        DatasetError: A file of an episode is missing or damaged.
    """
    shown = [{**facts(episode), "lane": lane(episode)} for episode in episodes]
    return render("turns.html", title=title, total=total, links=links, episodes=shown)


def lane(episode: Episode) -> list[dict[str, Any]]:
    """The turns of an episode, each with the views before it; the last entry is the end, which has
    no command.
    """
    told = ("turn", "action", "ok", "code", "message", "reward", "progress", "success")
    rows = [{name: row[name] for name in told} for row in episode.turns.to_dict("records")]
    return [{**row, "views": _views(episode, k)} for k, row in enumerate([*rows, {}])]


def _views(episode: Episode, turn: int) -> list[dict[str, str]]:
    """The views after so many turns: ``name``, and ``image`` or ``text``."""
    return [
        {"name": name, "image": data_uri(jpeg(view, "turn"))}
        if isinstance(view, np.ndarray)
        else {"name": name, "text": view}
        for name, view in episode.seen(turn).items()
    ]
