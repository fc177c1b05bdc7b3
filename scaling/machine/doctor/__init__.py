"""Examines a machine for conditions that spoil measurements."""
