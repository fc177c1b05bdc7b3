"""How the threads of each framework are set, and how a step is compiled in it. Imported in the child only."""
