"""The parts of a sizing question, which `capacity` puts together. Pure."""
