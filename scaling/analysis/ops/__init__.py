"""What traces of single operations tell: the parts that `operations` puts together. Pure."""
