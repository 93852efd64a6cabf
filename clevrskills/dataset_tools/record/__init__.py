"""Recording of an episode: steps, labels, videos and their annotations."""
