"""Pages that are complete in themselves: a template with its styles, scripts and data in it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

DIGITS = 5
"""Significant digits of the numbers in the data of a page."""


def render(template: str, **values: Any) -> str:
    """A template with values; ``source(name)`` in it is another file as it is.

    Templates are those of this package and of the pages of datasets.
    """
    import jinja2

    packages = ("evaluation.report", "suites.clevrskills", "dataset_tools")
    loader = jinja2.ChoiceLoader([jinja2.PackageLoader(f"clevrskills.{name}") for name in packages])
    environment = jinja2.Environment(loader=loader, autoescape=True)
    environment.globals["source"] = lambda name: loader.get_source(environment, name)[0]
    return environment.get_template(template).render(values)


def plain(value: Any) -> Any:
    """JSON data with short numbers; NaN becomes ``None``."""
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float):
        return None if math.isnan(value) else float(f"{value:.{DIGITS}g}")
    return value
