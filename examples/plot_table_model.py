"""
A model of a table
==================

From a table and the name of a column, `mercer.fit` finds a machine and measures it on rows that it has not
seen. These are some figures of its report: how good it is beside simpler models, how far to trust a single
prediction, and what it goes by. The table has ten measurements of 442 patients, and how their diabetes
progressed within a year.

Intervals are conformal: if q is the ⌈(m + 1)·0.9⌉-th of m absolute errors on unseen rows, sorted, then a
fresh row lies within ŷ ± q with probability at least 0.9, whatever the distribution, as a fresh error is
equally likely to have any place in that order. The importance of a column is the growth of the error when
its values are shuffled.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes

import mercer
from mercer import plot

table = load_diabetes(as_frame=True, scaled=False).frame
model = mercer.fit(table, target="target", minutes=0.03, random_state=0)
evidence = model.evidence

# %%
# How good is it? Dots are errors with their 95 % intervals; then every patient, predicted by a model that
# had not seen them.
errors = evidence.truth - evidence.predicted
half_width = np.quantile(np.abs(errors), 0.9)
fig, axes = plt.subplots(1, 3, figsize=(12, 3.8), layout="constrained")
plot.contenders([c.name for c in evidence.contenders], [c.scores[0] for c in evidence.contenders], axes[0])
plot.prediction_band(evidence.truth, evidence.predicted, half_width, axes[1])
plot.error_histogram(errors, half_width, axes[2])
plt.show()

# %%
# Do intervals hold what they promise? The shaded band is what chance allows.
fig, ax = plt.subplots(figsize=(5.4, 3.8), layout="constrained")
plot.coverage(evidence.coverage, len(errors), ax)
plt.show()

# %%
# What does it go by? The growth of the error when a column is shuffled; and one cut through the model,
# along the body mass index, with all else at its median.
fig, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
plot.importance(evidence.importance, left)
bmi = np.linspace(table["bmi"].min(), table["bmi"].max(), 60)
rows = {name: np.full(60, table[name].median()) for name in table.columns if name != "target"} | {"bmi": bmi}
plot.dependence(bmi, model.predict(rows)[:, None], ax=right, band=model.predict_interval(rows))
right.set(xlabel="body mass index", ylabel="progression")
plt.show()
