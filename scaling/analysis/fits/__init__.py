"""How a law is fitted to launches, and how sure that is: the parts that `fitting` puts together. Pure."""
