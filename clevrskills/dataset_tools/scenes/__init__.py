"""Training scenes: images without demonstrations, with what they show and what is to be done."""
