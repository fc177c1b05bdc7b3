"""Topology, placement and meters of the machine."""
