"""Programs that the queue measures beside networks: the source of one, and the inputs of the others."""
