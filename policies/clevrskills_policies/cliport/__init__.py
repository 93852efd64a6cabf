"""Pick-and-place actor after the idea of CLIPort: heat maps of where to pick and to place."""
