"""Mercer against its peers, measured in one run on one machine. ``python -m benchmarks`` prints ratios."""
