"""Figure of composition: for each task what is lost between skills alone and the whole, as SVG."""

from __future__ import annotations

import math
from collections.abc import Sequence

from clevrskills.evaluation.handover.tables import LOSSES, Composition
from clevrskills.evaluation.report.svg import element, figure, text

LEFT, WIDTH, ROW, TOP = 230, 480, 40, 44
COLORS = {"strange": "#3b7dd8", "dependence": "#d88c3b", "choosing": "#b0413e"}
STEPS = (
    ("strange", "expected", "product"),
    ("dependence", "product", "planner"),
    ("choosing", "planner", "whole"),
)
"""What is lost, from where to where."""


def composition_figure(rows: Sequence[Composition]) -> str:
    """The figure; empty if there is nothing to draw."""
    if not rows:
        return ""
    runs, splits = ({getattr(row, name) for row in rows} for name in ("run", "split"))
    height = TOP + ROW * len(rows) + 24
    parts, x = list[str](), LEFT
    for name, color in COLORS.items():
        parts.append(element("rect", x=x, y=8, width=12, height=12, fill=color))
        parts.append(text(LOSSES[name], x + 17, 18))
        x += 125
    parts.append(element("circle", cx=x + 4, cy=14, r=4) + text("whole task", x + 13, 18))
    for value in range(0, 101, 25):
        line = f"M{_x(value / 100)} {TOP - 12}V{height - 20}"
        grid = element("path", d=line, stroke="currentColor", stroke_opacity=0.2)
        parts.append(grid + text(f"{value} %", _x(value / 100), height - 4, "middle"))
    for k, row in enumerate(rows):
        label = [row.task or f"mean of {row.level}"]
        label += [row.split] * (len(splits) > 1) + [row.run] * (len(runs) > 1)
        parts += _row(row, ", ".join(label), TOP + ROW * k)
    return figure("Where composition breaks", LEFT + WIDTH + 30, str(height), parts)


def _row(row: Composition, label: str, y: int) -> list[str]:
    parts = [text(label, LEFT - 10, y + 17, "end")]
    for step, (loss, begin, end) in enumerate(STEPS):
        values = getattr(row, begin).value, getattr(row, end).value
        if any(map(math.isnan, values)):
            continue
        low, high = sorted(values)
        width = f"{max(1.0, _x(high) - _x(low)):.1f}"
        place = {"x": _x(low), "y": y + 2 + 8 * step, "width": width, "height": "7"}
        gained = {"fill_opacity": 0.35} if values[1] > values[0] else {}
        title = element("title", f"{LOSSES[loss]}: {getattr(row, loss).percent(0, '+')}")
        parts.append(element("rect", title, **place, fill=COLORS[loss], **gained))
    if not math.isnan(row.whole.value):
        title = element("title", f"whole task: {row.whole.percent(0)} %")
        parts.append(element("circle", title, cx=_x(row.whole.value), cy=y + 13, r=4))
    return parts


def _x(share: float) -> float:
    return round(LEFT + WIDTH * share, 1)
