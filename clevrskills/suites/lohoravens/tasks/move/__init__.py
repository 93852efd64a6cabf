"""Tasks that move blocks between areas."""
