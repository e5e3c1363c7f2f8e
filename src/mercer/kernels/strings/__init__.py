"""Kernels on strings: text, bytes, or lists of tokens."""
