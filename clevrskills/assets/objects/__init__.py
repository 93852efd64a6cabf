"""Catalogue of objects.

To add an object, add a table to `catalogue.toml`, a row to `flat` or a function with `@entry`, and
its name to a split in `clevrskills.assets.splits`.

Builders use millimeters, x to the right and y away from the viewer. An object has a flat underside
and a flat area 33 mm wide on top for a suction cup; its parts touch but do not overlap. The center
of the bounding box becomes the origin.
"""

# ruff: noqa: F401 (the modules register their objects)
from clevrskills.assets.objects import computed, flat
from clevrskills.assets.objects.registry import Item, catalogue, fittings
