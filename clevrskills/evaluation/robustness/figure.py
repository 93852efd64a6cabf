"""Figure of robustness, as SVG: drop of each axis, its curve over levels, and by task."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from clevrskills.evaluation.report.svg import element, figure, text
from clevrskills.evaluation.robustness.tables import Drop, drop_of, points_text

LEFT, WIDTH, ROW, TOP = 230, 480, 22, 30
GAP = 46
"""Between the parts."""
BAR = "#b0413e"
GAIN = "#3b7dd8"
PANEL, ACROSS = 150, 4
"""Size of the panel of one curve, and how many stand side by side."""
CELL = 46
"""Width of a cell of the heat map."""


def robustness_figures(drops: Sequence[Drop]) -> list[str]:
    """Return one figure for each policy and split."""
    kinds = list(dict.fromkeys(_kind(one) for one in drops))
    return [_figure([one for one in drops if _kind(one) == kind], kind, kinds) for kind in kinds]


def _kind(drop: Drop) -> tuple[str, str]:
    """Return policy and split."""
    return drop.policy, drop.split


def _figure(drops: Sequence[Drop], kind: tuple[str, str], kinds: Sequence[tuple[str, str]]) -> str:
    y, parts = 10.0, list[str]()
    title = "Drop by axis, clean less perturbed, in percentage points"
    if len(kinds) > 1:
        title += f": {kind[0]}, {kind[1]}"
    for begin, drawn in ((title, _bars), ("Over the levels", _curves), ("By task", _heat_map)):
        height, lines = drawn(drops, y + TOP)
        if lines:
            parts += [element("text", escape(begin), x=10, y=y + 8, font_weight="bold"), *lines]
            y += TOP + height + GAP
    width = max(LEFT + WIDTH + 40, LEFT + CELL * len(drops) + 20)
    return figure("Robustness", width, f"{y:.0f}", parts)


def _bars(drops: Sequence[Drop], top: float) -> tuple[float, list[str]]:
    """Return the drop of each axis and level, with its interval, the greatest first."""
    rows = sorted(drops, key=lambda one: -one.drop.value)
    ends = [e for one in rows for e in (one.drop.low, one.drop.high) if not math.isnan(e)]
    low = min(0.0, math.floor(10 * min(ends, default=0.0)) / 10)
    high = max(0.1, math.ceil(10 * max(ends, default=0.1)) / 10)

    def x(value: float) -> float:
        return round(LEFT + WIDTH * (value - low) / (high - low), 1)

    height, parts = ROW * len(rows), list[str]()
    step = 0.1 if high - low <= 0.6 else 0.2
    for k in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1):
        value = k * step
        line, shade = f"M{x(value)} {top - 4}V{top + height}", 0.6 if abs(value) < 1e-9 else 0.15
        label = text(points_text(value), x(value), top + height + 15, "middle")
        parts.append(_path(line, stroke_opacity=shade) + label)
    for k, one in enumerate(rows):
        y, drop = top + ROW * k, one.drop
        begin, end = sorted((x(0.0), x(drop.value)))
        about = f"{one.name}: {drop.percent(sign='+')}, {one.count} pairs"
        color, width = BAR if drop.value >= 0 else GAIN, f"{max(1.0, end - begin):.1f}"
        place = {"x": begin, "y": y + 4, "width": width, "height": 12}
        bar = element("rect", **place, fill=color, fill_opacity=0.8)
        shown = [element("title", escape(about)), text(one.name, LEFT - 10, y + 14, "end"), bar]
        if not math.isnan(drop.low):
            a, b = x(drop.low), x(drop.high)
            shown += ["\n", _path(f"M{a} {y + 10}H{b}M{a} {y + 6}v8M{b} {y + 6}v8")]
        parts.append(element("g", *shown, "\n"))
    return height + 15, parts


def _curves(drops: Sequence[Drop], top: float) -> tuple[float, list[str]]:
    """Return success, clean and perturbed, over the levels of each axis with several."""
    axes: dict[str, list[Drop]] = {}
    for one in drops:
        if len(one.axes) == 1:
            axes.setdefault(next(iter(one.axes)), []).append(one)
    shown = {name: sorted(some, key=_level) for name, some in axes.items() if len(some) > 1}
    parts = list[str]()
    for k, (name, some) in enumerate(shown.items()):
        left, above = 40 + (PANEL + 40) * (k % ACROSS), top + 16 + (PANEL + 50) * (k // ACROSS)
        parts += _panel(name, some, left, above)
    return (PANEL + 50) * math.ceil(len(shown) / ACROSS) - 20, parts


def _level(drop: Drop) -> int:
    return next(iter(drop.axes.values()))


def _panel(name: str, drops: Sequence[Drop], left: float, top: float) -> list[str]:
    """Return the curve of one axis: the band is the interval of the drop below the clean twins."""

    def x(level: int) -> float:
        return round(left + PANEL * level / 5, 1)

    def y(share: float) -> float:
        return round(top + PANEL * (1 - min(1.0, max(0.0, share))), 1)

    size = {"x": left, "y": top, "width": PANEL, "height": PANEL}
    lines = {"stroke": "currentColor", "stroke_opacity": 0.3}
    title = text(name, left, top - 6)
    parts = [title + element("rect", **size, fill="none", **lines)]
    for share in (0.0, 0.5, 1.0):
        parts.append(text(f"{100 * share:.0f}", left - 5, y(share) + 4, "end"))
    clean = [one.clean.value for one in drops]
    levels = [_level(one) for one in drops]
    for level in (0, *levels):
        parts.append(text(str(level), x(level), top + PANEL + 15, "middle"))
    known = [k for k, one in enumerate(drops) if not math.isnan(one.drop.low)]
    band = [f"{x(levels[k])},{y(clean[k] - drops[k].drop.low)}" for k in known]
    band += [f"{x(levels[k])},{y(clean[k] - drops[k].drop.high)}" for k in reversed(known)]
    parts.append(element("polygon", points=" ".join(band), fill=BAR, fill_opacity=0.2))
    dashed = {"stroke": "currentColor", "stroke_width": 2, "stroke_dasharray": "4 3"}
    whole = {"stroke": BAR, "stroke_width": 2}
    for values, style in ((clean, dashed), ([one.perturbed.value for one in drops], whole)):
        ends = zip((0, *levels), (clean[0], *values), strict=True)
        points = " ".join(f"{x(a)},{y(b)}" for a, b in ends)
        parts.append(element("polyline", points=points, fill="none", **style))
    return parts


def _heat_map(drops: Sequence[Drop], top: float) -> tuple[float, list[str]]:
    """Return the drop of each task along each axis."""
    tasks = list(dict.fromkeys(task for one in drops for task in one.pairs))
    parts, head = list[str](), 8 + 6.5 * max(len(one.name) for one in drops)
    for k, one in enumerate(drops):
        left, base = f"{LEFT + CELL * (k + 0.6):.0f}", f"{top + head - 6:.0f}"
        turn = f"rotate(-90 {left} {base})"
        parts.append(element("text", escape(one.name), x=left, y=base, transform=turn))
    for row, task in enumerate(tasks):
        y = top + head + ROW * row
        parts.append(text(task, LEFT - 10, f"{y + 15:.0f}", "end"))
        for k, one in enumerate(drops):
            if task not in one.pairs:
                continue
            pairs = one.pairs[task]
            drop = drop_of(pairs)
            x, shade = LEFT + CELL * k, f"{0.06 + 0.8 * min(1.0, abs(drop)):.2f}"
            place = {"x": x, "y": f"{y:.0f}", "width": CELL - 2, "height": ROW - 2}
            cell = element("rect", **place, fill=BAR if drop > 0 else GAIN, fill_opacity=shade)
            number = text(points_text(drop), x + CELL / 2 - 1, f"{y + 15:.0f}", "middle")
            about = f"{task}, {one.name}: {points_text(drop)}, {len(pairs)} pairs"
            parts.append(element("g", element("title", escape(about)), cell, number))
    return head + ROW * len(tasks), parts


def _path(d: str, **attributes: object) -> str:
    return element("path", d=d, stroke="currentColor", **attributes)
