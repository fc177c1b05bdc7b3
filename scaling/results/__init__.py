"""Rows, results folders, evaluations, exports and other tools' files."""
