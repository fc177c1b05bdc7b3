"""The question: a study, and the runs it spreads out into."""
