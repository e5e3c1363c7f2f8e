"""
A Gram matrix, sorted by label
==============================

All that a kernel machine sees of its examples is the matrix of kernel values K_ij = k(x_i, x_j). With the
examples sorted by class, a kernel that suits the problem shows dark blocks along the diagonal, where members
of a class meet each other, and little between them. The lighter a block, the more its class varies.

For digits and a Gaussian kernel the width decides what is seen. Too wide, and all digits are alike; too
narrow, and every image resembles itself alone, so that the matrix is close to the identity and nothing can
be carried over from one example to another.

No figure of the texts has it; [003] defines this matrix in section 12.5.1.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

from mercer import plot
from mercer.kernels import Gaussian

X, y = load_digits(return_X_y=True)
X, y = X[:300], y[:300]
fig, axes = plt.subplots(1, 3, figsize=(10, 3.6), layout="constrained")
for ax, sigma in zip(axes, (5.0, 22.0, 150.0), strict=True):
    plot.gram(Gaussian(sigma), X, y, ax).set_title(f"σ = {sigma:g}", fontsize=10)
plt.show()
