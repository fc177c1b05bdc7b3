"""How a program scales on a CPU, and so how many cores it should get. Importing this imports nothing else."""
