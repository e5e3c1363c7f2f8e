"""
How difficult is this problem?
==============================

Two things make learning hard: a kernel whose eigenvalues fall slowly, and a target that lies along the late
eigenvectors. Both can be read off the data. On a circle the two laws are known, and found again from 1,000
examples; on the right the eigenvalues of a Gaussian kernel fall exponentially.

With eigenvalues λ_i ~ i^(−b) of K/n and squared coefficients of the target ~ i^(−(2rb+1)), no method learns
faster than n^(−2rb/(2rb+1)). The coefficients of y are those of the target plus noise, which is the same
along all eigenvectors: beyond the level σ²/n nothing of the target can be seen.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import plot, theory
from mercer.kernels import Gaussian

rng = np.random.default_rng(0)
problem = theory.CircleProblem(b=2, r=0.5, noise=0.3)
X, y = problem.draw(1000, rng)

# %%
# Laws are fitted where data can tell: above the noise, and before the matrix ends.
fig, (left, right) = plt.subplots(1, 2, figsize=(10.5, 4.4), layout="constrained")
found = theory.spectrum(problem.kernel(X), y)
smooth = theory.smoothness(found)
plot.decay(found, left, law=theory.fit_decay(found.values), smoothness=smooth)
print(f"b = {smooth.b:.2f}, r = {smooth.r:.2f}, so n^−{smooth.exponent:.2f}")
print(f"truth: b = 2, r = 0.5, n^−{problem.exponent:.2f}")
found = theory.spectrum(Gaussian(0.5)(rng.standard_normal((1000, 1))))
plot.decay(found, right, law=theory.fit_decay(found.values, last=16))
plt.show()
