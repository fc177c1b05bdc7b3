"""One module per framework, which sets its threads and compiles a step in it. Imported by child processes only."""
