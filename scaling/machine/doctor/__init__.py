"""What would spoil a measurement on this machine, why, and the remedy."""
