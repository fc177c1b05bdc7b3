"""Executes the runs of a study, here or on a cluster."""
