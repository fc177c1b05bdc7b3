"""Figures of a results folder; only this package imports matplotlib and seaborn."""

from scaling.errors import need

need("matplotlib", "report", "figures and pages")
