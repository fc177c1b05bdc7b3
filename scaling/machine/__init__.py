"""What the machine is, and where a run is put."""
