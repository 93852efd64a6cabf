"""Figure of composition: for each task what is lost between skills alone and the whole, as SVG."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from clevrskills.evaluation.handover.tables import LOSSES, Composition

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
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {LEFT + WIDTH + 30} {height}" '
        'role="img" aria-label="Where composition breaks" font-family="sans-serif" font-size="12" '
        'fill="currentColor">'
    ]
    x = LEFT
    for name, color in COLORS.items():
        parts.append(f'<rect x="{x}" y="8" width="12" height="12" fill="{color}"/>')
        parts.append(f'<text x="{x + 17}" y="18">{LOSSES[name]}</text>')
        x += 125
    parts.append(f'<circle cx="{x + 4}" cy="14" r="4"/><text x="{x + 13}" y="18">whole task</text>')
    for value in range(0, 101, 25):
        parts.append(
            f'<path d="M{_x(value / 100)} {TOP - 12}V{height - 20}" stroke="currentColor" '
            f'stroke-opacity="0.2"/><text x="{_x(value / 100)}" y="{height - 4}" '
            f'text-anchor="middle">{value} %</text>'
        )
    for k, row in enumerate(rows):
        label = [row.task or f"mean of {row.level}"]
        label += [row.split] * (len(splits) > 1) + [row.run] * (len(runs) > 1)
        parts += _row(row, ", ".join(label), TOP + ROW * k)
    return "\n".join([*parts, "</svg>"])


def _row(row: Composition, label: str, y: int) -> list[str]:
    parts = [f'<text x="{LEFT - 10}" y="{y + 17}" text-anchor="end">{escape(label)}</text>']
    for step, (loss, begin, end) in enumerate(STEPS):
        values = getattr(row, begin).value, getattr(row, end).value
        if any(map(math.isnan, values)):
            continue
        low, high = sorted(values)
        gained = ' fill-opacity="0.35"' if values[1] > values[0] else ""
        title = f"{LOSSES[loss]}: {getattr(row, loss).percent(0, '+')}"
        width = max(1.0, _x(high) - _x(low))
        parts.append(
            f'<rect x="{_x(low)}" y="{y + 2 + 8 * step}" width="{width:.1f}" height="7" '
            f'fill="{COLORS[loss]}"{gained}><title>{escape(title)}</title></rect>'
        )
    if not math.isnan(row.whole.value):
        title = f"whole task: {row.whole.percent(0)} %"
        parts.append(
            f'<circle cx="{_x(row.whole.value)}" cy="{y + 13}" r="4">'
            f"<title>{escape(title)}</title></circle>"
        )
    return parts


def _x(share: float) -> float:
    return round(LEFT + WIDTH * share, 1)
