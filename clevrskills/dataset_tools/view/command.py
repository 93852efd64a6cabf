"""``clevrskills view``: self-contained HTML pages of episodes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clevrskills.dataset_tools.manifest import round_robin
from clevrskills.dataset_tools.pages import render
from clevrskills.errors import ClevrSkillsError
from clevrskills.jobs.arguments import check_least
from clevrskills.jobs.files import storage_errors, write_whole
from clevrskills.jobs.options import Positional

if TYPE_CHECKING:
    from clevrskills.dataset_tools.dataset import Dataset, Episode
    from clevrskills.dataset_tools.manifest import Attempt

PAGE_LIMIT = 20
"""Default number of episodes on one page; each takes 0.3 to 2 MB."""


@dataclass(kw_only=True)
class ViewArgs:
    """Show episodes in a browser: videos with boxes, annotations on a timeline, rewards, goals.

    `--out page.html` writes one page with up to `--limit` episodes. `--out folder` writes a page
    per episode, and index.html to search and filter all episodes and failed attempts.
    """

    dataset: Positional[Path]
    """Folder of the dataset."""
    episode: str | None = None
    """Show only this episode, e.g. `sort/train_00000003`."""
    out: Path
    """A page, e.g. `page.html`; or a folder for an index and a page per episode."""
    limit: int | None = None
    """Maximum number of episodes, evenly from all tasks; default: 20 on a page, all in a folder."""


def view(args: ViewArgs) -> int:
    """Write the page, or the folder of pages; return exit code 0.

    Raises:
        ClevrSkillsError: The dataset or episode does not exist, or a page cannot be written.
    """
    from clevrskills.dataset_tools.dataset import Dataset
    from clevrskills.dataset_tools.manifest import read_manifest

    check_least(args, limit=1)
    dataset = Dataset(args.dataset)
    if not len(dataset):
        raise ClevrSkillsError(
            f"{args.dataset} has no episodes yet: continue `clevrskills generate`"
        )
    single = args.out.suffix.lower() == ".html"
    limit = args.limit or (PAGE_LIMIT if single else len(dataset))
    episodes = [dataset.episode(args.episode)] if args.episode else choose(dataset, limit)
    failures = [line for line in read_manifest(args.dataset) if not line.success]
    title = args.dataset.resolve().name
    with storage_errors(args.out):
        args.out.parent.mkdir(parents=True, exist_ok=True)
    if single:
        write_whole(args.out, page(episodes, title, len(dataset), failures))
    else:
        _write_folder(args.out, episodes, title, len(dataset), failures)
    print(f"{args.out}: {len(episodes)} of {len(dataset)} episodes")
    return 0


def choose(dataset: Dataset, limit: int) -> list[Episode]:
    """Return at most ``limit`` episodes, evenly from all tasks and splits."""
    chosen = set(round_robin(dataset.ids, limit))
    return [episode for episode in dataset if episode.id in chosen]


def page(
    episodes: Sequence[Episode],
    title: str,
    total: int,
    failures: Iterable[Attempt] = (),
    links: dict[str, str | None] | None = None,
) -> str:
    """Return an HTML page of episodes.

    Args:
        episodes: Episodes of the page; those without an arm are shown as lists of turns.
        title: Name of the dataset.
        total: Number of episodes in the dataset.
        failures: Failed attempts.
        links: Links to the ``index`` and to the ``previous`` and ``next`` episode.

    Raises:
        DatasetError: A file of an episode is missing or damaged.
    """
    from clevrskills.dataset_tools.view.page_data import contents, data_uri, facts, lane, thumbnail

    if not episodes[0].has_steps:
        shown = [{**facts(episode), "lane": lane(episode)} for episode in episodes]
        return render("turns.html", title=title, total=total, links=links, episodes=shown)
    cards = []
    if len(episodes) > 1:
        for episode in episodes:
            image = thumbnail(episode)
            cards.append({**facts(episode), "image": data_uri(image) if image else None})
    return render(
        "episode.html",
        title=title,
        total=total,
        cards=cards,
        failures=list(failures),
        links=links,
        episodes=map(contents, episodes),
    )


def _write_folder(
    out: Path, episodes: Sequence[Episode], title: str, total: int, failures: Sequence[Attempt]
) -> None:
    """Write ``index.html``, and for each episode ``episodes/<id>.html`` and ``.jpg``."""
    from rich.progress import track

    from clevrskills.dataset_tools.view.page_data import facts, thumbnail

    cards: list[dict[str, Any]] = []
    paths = [f"episodes/{episode.id}.html" for episode in episodes]
    for k, episode in enumerate(track(episodes, "pages", transient=True)):
        path, up = out / paths[k], "../../"
        links = {
            "index": f"{up}index.html",
            "previous": up + paths[k - 1] if k else None,
            "next": up + paths[k + 1] if k + 1 < len(paths) else None,
        }
        image = thumbnail(episode)
        with storage_errors(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            if image:
                path.with_suffix(".jpg").write_bytes(image)
        write_whole(path, page([episode], title, total, links=links))
        cards.append({**facts(episode), "page": paths[k], "image": bool(image)})
    failed = [
        {k: v for k, v in asdict(line).items() if k not in ("times_s", "files", "worker")}
        for line in failures
    ]
    index = render(
        "index.html", title=title, total=total, data={"episodes": cards, "failures": failed}
    )
    write_whole(out / "index.html", index)
