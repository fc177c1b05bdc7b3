"""Scaling laws, and the curve of every series: what was measured, the posterior, its draws, and what is read off them.

Read in this order: `laws` (the formulae), `observations` (launches to counts), `posterior` (the model), `draws` (whole
curves) and `fit` (a series in, everything that is said of its curve out).
"""
