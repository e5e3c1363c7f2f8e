"""
Which digits are mistaken for which
===================================

Each of 1,797 handwritten digits is classified by a machine that has not seen it. Rows of the matrix are the
true digits, columns the answers; nearly all lie on the diagonal. Below are digits that were mistaken, with
what they are and what they were taken for: many of them would make one hesitate.

A support vector machine tells two classes apart. For ten there is one for each of the 45 pairs, each
minimising (1/n) Σ_i max(0, 1 − y_i f(x_i)) + λ‖f‖² over the digits of its pair, and their votes are
counted. Answers come from three folds: the digits of each are predicted by the machine that was fitted to
the other two.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import cross_val_predict

from mercer import KernelSVC, plot
from mercer.kernels import Gaussian

digits = load_digits()
X, y = digits.data / 16, digits.target

# %%
# How many examples of each class were taken for which.
predicted = cross_val_predict(KernelSVC(Gaussian(1.5), lam=1e-4), X, y, cv=3)
fig, ax = plt.subplots(figsize=(5.6, 5.4), layout="constrained")
plot.confusion(y, predicted, ax)
plt.show()

# %%
# Some of those that were mistaken.
wrong = np.flatnonzero(predicted != y)[:24]
captions = [f"{y[i]}, not {predicted[i]}" for i in wrong]
fig, ax = plt.subplots(figsize=(9, 4.4), layout="constrained")
plot.image_sheet(digits.images[wrong], captions, ax)
print(f"{np.mean(predicted != y):.1%} of the digits are mistaken")
plt.show()
