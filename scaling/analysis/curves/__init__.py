"""Scaling laws, and the curve of every series.

Reading order: `laws` (formulae), `observations` (launches to counts), `posterior` (the model), `draws` (whole curves)
and `fit` (the curve of a series and the figures read off it).
"""
