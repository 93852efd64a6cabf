"""Drawing of the packages of clevrskills and their imports."""

import ast
import re
import textwrap
from collections import defaultdict
from html import escape
from pathlib import Path

from pages import DOCS, ROOT

PACKAGE = ROOT / "clevrskills"
DRAWING = DOCS / "architecture.svg"
WIDTH, ROW, BOX_WIDTH, BOX_HEIGHT = 1120, 118, 206, 76
LINE_CHARACTERS, LINES = 31, 3
STYLE = """
svg { background: #fff; font: 12px system-ui, sans-serif; }
rect { fill: #eef2f6; stroke: #9aa7b4; }
path { fill: none; stroke: #7c8b9a; stroke-width: 1.3; marker-end: url(#tip); }
.name { font-weight: 600; font-size: 15px; fill: #14181c; }
.says { fill: #4d5862; font-size: 11.4px; }
"""


def rows() -> list[list[str]]:
    """Return the rows of packages, top first, as listed in CONTRIBUTING.md."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    found = re.search(r"^```layers\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert found is not None
    lines = [line.split() for line in found[1].splitlines()]
    return [[room for room in line if file_of(room).exists()] for line in lines]


def file_of(room: str) -> Path:
    """Return the file with the docstring of a package or a top-level module."""
    module = PACKAGE / f"{room}.py"
    return module if module.exists() else PACKAGE / room / "__init__.py"


def imported_by(file: Path) -> set[str]:
    """Return the modules and names of clevrskills that a file imports, also inside functions."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return {name for name in found if name.startswith("clevrskills.")}


def imports() -> dict[str, set[str]]:
    """Return the packages that each package imports."""
    rooms = {room for row in rows() for room in row}
    graph: dict[str, set[str]] = defaultdict(set)
    for file in PACKAGE.rglob("*.py"):
        room = file.relative_to(PACKAGE).parts[0].removesuffix(".py")
        if room in rooms:
            graph[room] |= {name.split(".")[1] for name in imported_by(file)} & rooms - {room}
    return graph


def arrows(graph: dict[str, set[str]]) -> list[tuple[str, str]]:
    """Return the imports that are not implied by others (the transitive reduction)."""

    def below(room: str) -> set[str]:
        return graph[room].union(*(below(other) for other in graph[room]))

    return sorted(
        (room, other)
        for room in list(graph)
        for other in graph[room]
        if not any(other in below(between) for between in graph[room] - {other})
    )


def drawing() -> str:
    """Return the drawing as SVG."""
    places, row_of = {}, {}
    for k, row in enumerate(rows()):
        for j, room in enumerate(row):
            places[room] = (WIDTH * (j + 0.5) / len(row), 12 + k * ROW)
            row_of[room] = k
    lines: list[str] = []
    taken: set[float] = set()
    for upper, lower in arrows(imports()):
        (x, y), (to_x, to_y) = places[upper], places[lower]
        path, y, to_y = f"M{x:.0f} {y + BOX_HEIGHT}", y + BOX_HEIGHT, to_y - 6
        passed = [room for room in places if row_of[upper] < row_of[room] < row_of[lower]]
        if passed:
            lane = free_lane({places[room][0] for room in passed}, taken, x, to_x)
            taken.add(lane)
            path += curve(x, y, lane, y + ROW - BOX_HEIGHT)
            x, y = lane, to_y + 6 - (ROW - BOX_HEIGHT)
            path += f" L{x:.0f} {y}"
        lines.append(f'<path d="{path}{curve(x, y, to_x, to_y)}"/>')
    for room, (x, y) in places.items():
        left = x - BOX_WIDTH / 2
        box = f'width="{BOX_WIDTH}" height="{BOX_HEIGHT}" rx="8"'
        lines.append(f'<rect x="{left:.0f}" y="{y}" {box}/>')
        lines.append(f'<text class="name" x="{left + 12:.0f}" y="{y + 21}">{room}</text>')
        for k, line in enumerate(describe(room)):
            at = f'x="{left + 12:.0f}" y="{y + 37 + 14 * k}"'
            lines.append(f'<text class="says" {at}>{escape(line)}</text>')
    height = 12 + len(rows()) * ROW - (ROW - BOX_HEIGHT) + 12
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}">',
            f"<style>{STYLE}</style>",
            '<marker id="tip" viewBox="0 0 8 8" refX="6" refY="4" markerWidth="7"'
            ' markerHeight="7" orient="auto"><path d="M0 0 8 4 0 8z" style="fill: #7c8b9a;'
            ' stroke: none; marker-end: none"/></marker>',
            *lines,
            "</svg>\n",
        ]
    )


def curve(x: float, y: float, to_x: float, to_y: float) -> str:
    """Return a curve between two points, vertical at both."""
    middle = (y + to_y) / 2
    return f" C{x:.0f} {middle:.0f} {to_x:.0f} {middle:.0f} {to_x:.0f} {to_y}"


def free_lane(boxes: set[float], taken: set[float], x: float, to_x: float) -> float:
    """Return the x at which a line between two places passes between boxes."""
    free = [
        lane
        for lane in range(8, WIDTH - 7, 8)
        if all(abs(lane - box) > BOX_WIDTH / 2 + 8 for box in boxes) and lane not in taken
    ]
    return min(free, key=lambda lane: abs(lane - x) + abs(lane - to_x))


def describe(room: str) -> list[str]:
    """Return the first sentence of a package's docstring, wrapped."""
    text = ast.get_docstring(ast.parse(file_of(room).read_text(encoding="utf-8"))) or ""
    sentence = re.split(r"\.(?:\s|$)", text.split("\n\n")[0].replace("`", ""))[0]
    return textwrap.wrap(sentence, LINE_CHARACTERS, max_lines=LINES, placeholder=" …")
