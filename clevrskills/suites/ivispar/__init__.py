"""iVISPAR: sliding geoms on a board, one move per turn, as an image, a drawing or text."""
