"""Tasks whose sentences say the steps."""
