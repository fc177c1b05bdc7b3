"""Figures of a results folder: the only part that knows matplotlib and seaborn."""
