"""Hooks of the documentation site: they add the pages in the root of the repository, point links to
files outside the site to the repository, or turn them into plain text without one, and keep options
of commands on one line.
"""

from __future__ import annotations

import posixpath
import re
import tomllib
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
ROOT_PAGES = (
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "SECURITY.md",
    "CODE_OF_CONDUCT.md",
)
_CODE = re.compile(r"(^ *```.*?^ *```$)", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(?<!!)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s#]+)(#[^)\s]*)?\)")
_IMAGE = re.compile(r"(!\[[^\]]*\]\()docs/")
_OPTION = re.compile(r"(?:(?<=</span>)|(?<=<code>)|(?<=\s))--[a-z][a-z0-9-]*")


def on_config(config: Any) -> Any:
    """Set the address of the repository from ``[project.urls]`` in pyproject.toml."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    config.repo_url = project.get("urls", {}).get("Repository")
    return config


def on_files(files: Files, config: Any) -> Files:
    """Add the pages in the root of the repository."""
    for name in ROOT_PAGES:
        files.append(File.generated(config, name, abs_src_path=str(ROOT / name)))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Rewrite links to the locations of their targets on the site."""
    source = page.file.src_uri
    parts = _CODE.split(_IMAGE.sub(r"\1", markdown) if source in ROOT_PAGES else markdown)
    on_site = {file.src_uri for file in files if file.inclusion.is_included()}
    for k in range(0, len(parts), 2):  # every other one is code
        parts[k] = with_links(parts[k], source, on_site, config.repo_url)
    return "".join(parts)


def on_page_content(html: str, page: Any, config: Any, files: Files) -> str:
    """Mark the options of commands, which site.css does not wrap."""
    return _OPTION.sub(r'<span class="option">\g<0></span>', html)


def with_links(text: str, source: str, on_site: set[str], repository: str | None) -> str:
    """Return a page with links that are valid on the site.

    Args:
        text: Markdown with links that are valid in the repository.
        source: File of the page on the site.
        on_site: Files of the site.
        repository: Address for files outside the site; ``None``: links to them become plain text.
    """
    folder = posixpath.dirname(source if source in ROOT_PAGES else f"docs/{source}")

    def moved(match: re.Match[str]) -> str:
        words, target, anchor = match[1], match[2], match[3] or ""
        path = posixpath.normpath(posixpath.join(folder, target))
        if ":" in target or not (ROOT / path).exists():
            return match[0]  # an address, or a dead link that strict builds refuse
        place = path.removeprefix("docs/")
        if place in on_site and (place in ROOT_PAGES or path.startswith("docs/")):
            start = posixpath.dirname(source) or "."
            return f"[{words}]({posixpath.relpath(place, start)}{anchor})"
        return f"[{words}]({repository.rstrip('/')}/blob/main/{path})" if repository else words

    return _LINK.sub(moved, text)
