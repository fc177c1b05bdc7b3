"""What a question about sizes is made of: the parts that `capacity` puts together. Pure."""
