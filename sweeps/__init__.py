"""Ready-made studies in TOML: one question a file."""
