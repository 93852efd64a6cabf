"""Recording of episodes: steps, labels, videos and their annotations."""
