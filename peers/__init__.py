"""scikit-learn's own test files, run with our machines in place of theirs: `make peers`."""
