"""Executes the runs of a study on this machine."""
