"""Pick-and-place policy in the style of CLIPort: affordance maps for pick and place."""
