"""Workloads, which are independent of the engine."""
