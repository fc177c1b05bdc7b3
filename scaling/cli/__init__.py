"""A file a command: arguments in, calls, printing, exit status."""
