"""Manual play of episodes at the terminal, from a script, or on a web page."""
