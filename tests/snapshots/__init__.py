"""The words of the program: per command a file of command lines, each with all that it prints.

A heading `$ scaling …` is a case: to add one, write its line into a file and run `python -m tests.snapshots`, which
writes every file anew; the change of words is then the diff. `tests/test_snapshots.py` compares.
"""
