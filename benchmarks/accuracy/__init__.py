"""How accurate ``mercer.fit`` is with nothing chosen by hand, beside tuned peers on real tables."""
