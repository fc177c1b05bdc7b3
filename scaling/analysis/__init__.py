"""The evaluation of rows; pure."""
