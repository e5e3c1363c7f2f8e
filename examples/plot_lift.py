"""
A lift that makes points separable
==================================

Two rings lie one inside the other, and no line of the plane has one of them on each side. The feature map
φ(x) = (x₁², √2 x₁x₂, x₂²) takes the same points to space, where a plane does it: the inner ring has the
smaller x₁² + x₂², and that is a linear function of φ(x). Seen from the plane again, the dividing plane is a
closed curve.

The machine never needs the coordinates: φ(x)·φ(z) = (x·z)², a kernel. The second figure lifts two moons by
all monomials up to degree 3, ten coordinates. To be seen, they are turned so that the dividing plane lies
flat and the height of a point is its distance from the plane.

Figure 4.1 of [001].
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_circles, make_moons

from mercer import plot
from mercer.kernels import Polynomial

X, y = make_circles(120, noise=0.06, factor=0.45, random_state=0)
plot.lift(X, y)
plt.show()

# %%
# A kernel stands for its own feature map. Ten coordinates are enough for the moons.

X, y = make_moons(120, noise=0.1, random_state=0)
plot.lift(X, y, Polynomial(3, c=1.0))
plt.show()
