"""How each framework is told its threads, and how a step is compiled in it. Imported in the child only."""
