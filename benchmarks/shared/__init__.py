"""What benchmarks and tests both use: simulated machines and launches, a loop that kills sweeps, published figures."""
