"""Figure of composition as SVG: the loss between single skills and the whole task, by task."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

from clevrskills.evaluation.handover.tables import LEVELS, LOSSES, Composition

WIDTH, ROW, TOP, LETTER = 480, 40, 52, 6.4
"""Pixels of the axis, of a row, above the first one, and of a letter, about."""
COLORS = {"strange": "#3b7dd8", "dependence": "#d88c3b", "choosing": "#b0413e"}
STEPS = (
    ("strange", "expected", "product"),
    ("dependence", "product", "planner"),
    ("choosing", "planner", "whole"),
)
"""Losses, each with its start and end."""


def composition_figure(
    rows: Sequence[Composition], headings: Mapping[int, str] | None = None
) -> str:
    """Return the figure; empty if there is nothing to draw.

    Args:
        rows: Its rows.
        headings: Headings above rows, by row number.
    """
    if not rows:
        return ""
    runs, splits = ({getattr(row, name) for row in rows} for name in ("run", "split"))
    labels = [
        ", ".join(
            [
                row.task or f"mean of {row.level}",
                *[row.split] * (len(splits) > 1),
                *[row.run] * (len(runs) > 1),
            ]
        )
        for row in rows
    ]
    left = 20 + LETTER * max(map(len, labels))
    y, drawn = float(TOP), list[str]()
    for k, (row, label) in enumerate(zip(rows, labels, strict=True)):
        if heading := (headings or {}).get(k):
            drawn.append(element("text", escape(heading), x=10, y=y + 12, font_weight="bold"))
            y += ROW / 2
        drawn += _row(row, label, left, y)
        y += ROW
    parts, x = [*_mark(14, 8), text(LEVELS["expected"], 24, 18)], 100.0
    for name, color in COLORS.items():
        parts.append(element("rect", x=x, y=8, width=12, height=12, fill=color))
        parts.append(text(LOSSES[name], x + 17, 18))
        x += 38 + LETTER * len(LOSSES[name])
    parts.append(element("circle", cx=x + 4, cy=14, r=4) + text(LEVELS["whole"], x + 13, 18))
    for value in range(0, 101, 25):
        at = left + WIDTH * value / 100
        line = f"M{at:.1f} {TOP - 16}V{y:.0f}"
        grid = element("path", d=line, stroke="currentColor", stroke_opacity=0.2)
        parts.append(grid + text(f"{value}", f"{at:.1f}", f"{y + 16:.0f}", "middle"))
    title = text("success rate (%)", f"{left + WIDTH / 2:.1f}", f"{y + 36:.0f}", "middle")
    size = round(left + WIDTH + 30), f"{y + 46:.0f}"
    return figure("Where composition breaks", *size, [*parts, title, *drawn])


def _mark(x: float, y: float) -> list[str]:
    """Return a tick for the expected success."""
    line = f"M{x:.1f} {y:.1f}v12"
    return [element("path", d=line, stroke="currentColor", stroke_width=2)]


def _row(row: Composition, label: str, left: float, y: float) -> list[str]:
    def x(share: float) -> float:
        return round(left + WIDTH * share, 1)

    parts = [text(label, f"{left - 10:.1f}", y + 17, "end")]
    for step, (loss, begin, end) in enumerate(STEPS):
        values = getattr(row, begin).value, getattr(row, end).value
        if any(map(math.isnan, values)):
            continue
        low, high = sorted(values)
        width = f"{max(1.0, x(high) - x(low)):.1f}"
        place = {"x": x(low), "y": y + 2 + 8 * step, "width": width, "height": "7"}
        gained = {"fill_opacity": 0.35} if values[1] > values[0] else {}
        title = element("title", f"{LOSSES[loss]}: {getattr(row, loss).percent(0, '+')}")
        parts.append(element("rect", title, **place, fill=COLORS[loss], **gained))
    if not math.isnan(row.expected.value):
        parts += _mark(x(row.expected.value), y - 1)
    if not math.isnan(row.whole.value):
        title = element("title", f"{LEVELS['whole']}: {row.whole.percent(0)} %")
        parts.append(element("circle", title, cx=x(row.whole.value), cy=y + 13, r=4))
    return parts


def element(tag: str, *content: str, **attributes: object) -> str:
    """Return an element; ``_`` in the name of an attribute stands for ``-``.

    Args:
        tag: Name of the element.
        content: Markup inside it.
        attributes: Values by name, in the order in which they are written.
    """
    given = "".join(f' {name.replace("_", "-")}="{value}"' for name, value in attributes.items())
    return f"<{tag}{given}>{''.join(content)}</{tag}>" if content else f"<{tag}{given}/>"


def text(words: str, x: object, y: object, anchor: str = "start") -> str:
    """Return text anchored at a point."""
    place = {"x": x, "y": y, **({"text_anchor": anchor} if anchor != "start" else {})}
    return element("text", escape(words), **place)


def figure(label: str, width: float, height: str, parts: list[str]) -> str:
    """Return a figure of the parts, with a ``label`` for screen readers."""
    return element(
        "svg",
        "\n" + "\n".join(parts) + "\n",
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {width} {height}",
        role="img",
        aria_label=label,
        font_family="sans-serif",
        font_size=12,
        fill="currentColor",
    )


def on_white(figure: str) -> str:
    """Return a figure on white, readable in dark mode."""
    return figure.replace("<svg ", '<svg style="background:#fff;color:#222" ', 1)
