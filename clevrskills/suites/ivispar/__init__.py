"""iVISPAR: sliding geoms on a board, one move per turn, as an image, a drawing or text."""

from clevrskills.suites.ivispar.original import export_config

__all__ = ["export_config"]
