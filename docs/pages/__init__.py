"""Generators of pages and their images; ``docs/build.py`` runs them."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
RESULTS = ROOT / "results"
"""Published results."""
