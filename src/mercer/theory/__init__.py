"""What can be said of errors on data not seen: bounds, each with what it assumes."""

from mercer.theory.bounds import Bound, binomial_bound, rademacher_bound

__all__ = ["Bound", "binomial_bound", "rademacher_bound"]
