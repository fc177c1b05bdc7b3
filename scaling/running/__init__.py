"""Making runs happen."""
