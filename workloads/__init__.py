"""What can be measured. A workload knows no engine."""
