"""The HTML page of a result, with a planner for further questions."""
