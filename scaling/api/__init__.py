"""The library: `run` measures, `load` reads, and both return `Results`. The command line only parses, calls, prints."""
