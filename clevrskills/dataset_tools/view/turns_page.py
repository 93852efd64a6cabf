"""Page of episodes of turns: what was seen at each, side by side, and what came of the command."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from clevrskills.dataset_tools.pages import render
from clevrskills.dataset_tools.view.page_data import facts, lane

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
