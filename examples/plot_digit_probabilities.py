"""
Ten classes, a probability each
===============================

Images of handwritten digits are 64 numbers; two principal components make them points of a plane. There a
logistic machine for ten classes gives every place ten probabilities that add up to 1. Each of the first ten
panels shows one of them, with the images of that digit as dots; in the last one the colours of the classes
are mixed by their probabilities, so that a pure colour is a sure answer and a muddy one a doubt.

Zeros have a place of their own, and sixes nearly so; fives and eights share theirs with others, and no border
drawn in this plane could part them. Two components out of 64 are not enough for reading digits, and the
probabilities say so, which a hard decision would hide. The second figure has the same machine's borders.

Figure 12.17 of [003].
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

from mercer import KernelLogistic, KernelPCA, plot
from mercer.kernels import Gaussian, Linear

images, digit = load_digits(return_X_y=True)
images, digit = images[::4], digit[::4]
X = KernelPCA(Linear(), n_components=2, random_state=0).fit_transform(images)
machine = KernelLogistic(Gaussian(8.0), lam=1e-4).fit(X, digit)
plot.class_probabilities(machine, X, digit)
plt.show()

# %%
# Twelve colours and markers at most can be told apart; names stand in the regions.

fig, ax = plt.subplots(figsize=(7.5, 5), layout="constrained")
plot.decision_regions(machine, X, digit, ax)
plt.show()
