"""By what the distance a kernel induces orders points, where that is simpler than the kernel itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mercer.codegen.formula import View, overridden

if TYPE_CHECKING:
    from mercer.kernels.base import Kernel


@dataclass(frozen=True)
class Order:
    """k(x,x) + k(z,z) − 2k(x,z) grows strictly with the norm, "l2" or "l1", of view(x) − view(z).

    Then whoever is nearest in that norm is nearest by the kernel. `falling` says more: k itself is a
    nonnegative function of the norm and falls strictly.
    """

    norm: str
    view: View
    falling: bool

    def of_falling(self) -> Order | None:
        """This order, if k itself falls: what functions of k keep."""
        return self if self.falling else None

    def with_other(self, other: Order | None) -> Order | None:
        """The order of a sum of two kernels: squared distances add, so both must have the same one."""
        if other is None or (self.norm, self.view) != (other.norm, other.view):
            return None
        return Order(self.norm, self.view, self.falling and other.falling)


def order_of(kernel: Kernel) -> Order | None:
    """The order a resolved kernel induces, if a rule says so.

    Examples
    --------
    >>> from mercer.kernels import Gaussian, Laplacian, Polynomial
    >>> order_of(2 * Gaussian(1.0) + 3).norm
    'l2'
    >>> order_of(Laplacian(1.0, norm="l1").scaled([1.0, 5.0])).norm
    'l1'
    >>> order_of(Polynomial(2)) is None
    True
    """
    return kernel.induced_order(View()) if _by_rule(kernel) else None


def _by_rule(kernel: Kernel) -> bool:
    """No part has a formula of its own further down than the class that states its order."""
    from mercer.kernels.base import Kernel as Base

    if type(kernel).induced_order is Base.induced_order:
        return True  # it states none
    own = any(overridden(kernel, "induced_order", values) for values in ("pairwise", "profile"))
    return not own and all(map(_by_rule, kernel.children().values()))
