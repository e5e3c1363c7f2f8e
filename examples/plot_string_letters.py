"""
Which letters carry the decision
================================

A machine that compares strings by their substrings is a linear function of how often each substring occurs,
so every substring has a weight, and a letter carries as much as the substrings that run through it. Blot a
letter out, and see by how much the score falls. Blue letters speak for one class, orange ones
for the other, as the legend says.

German names of sixteen rivers and sixteen towns are far too few to learn geography from, but endings
give a good deal away: *-burg*, *-stadt* and *-hausen* are towns. On the right are the substrings with the
largest weights, on the left new names, letter by letter.

The text leaves kernels on strings as a task to its authors ([003], section 12.5.2).
"""

import matplotlib.pyplot as plt

from mercer import KernelSVC, plot
from mercer.kernels import Spectrum

rivers = [
    "donau",
    "elbe",
    "rhein",
    "main",
    "neckar",
    "weser",
    "ems",
    "isar",
    "lech",
    "inn",
    "saale",
    "havel",
    "spree",
    "oder",
    "werra",
    "fulda",
]
towns = [
    "hamburg",
    "augsburg",
    "freiburg",
    "regensburg",
    "ingolstadt",
    "darmstadt",
    "eisenstadt",
    "oberhausen",
    "schaffhausen",
    "dortmund",
    "mannheim",
    "heidelberg",
    "pforzheim",
    "hildesheim",
    "nuernberg",
    "bamberg",
]
machine = KernelSVC(Spectrum(3, blended=True).normalize(), lam=1e-3)
machine.fit(rivers + towns, ["river"] * len(rivers) + ["town"] * len(towns))

fig, axes = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
plot.letters(machine, ["wolfsburg", "halberstadt", "rosenheim", "elster", "unstrut"], axes[0])
plot.feature_weights(machine, ax=axes[1])
plt.show()
