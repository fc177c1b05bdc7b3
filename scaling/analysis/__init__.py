"""What the rows mean; pure."""
