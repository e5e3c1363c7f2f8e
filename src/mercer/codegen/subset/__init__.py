"""A small part of Python, compiled: see `compiled`."""
