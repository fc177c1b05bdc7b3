"""Hostile input for every command, reproducible by seed and number, and what must hold whatever it is."""
