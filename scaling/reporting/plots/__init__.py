"""Figures of a results folder: the only part that knows matplotlib and seaborn."""

from scaling.errors import need

need("matplotlib", "report", "figures and pages")
