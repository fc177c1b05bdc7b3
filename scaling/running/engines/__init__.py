"""Where a sweep's runs go."""
