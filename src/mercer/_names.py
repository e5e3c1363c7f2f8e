"""What other libraries call classes, and what was learned: where it is here."""

from __future__ import annotations

import sys
from operator import attrgetter
from typing import Any

# Attributes of fitted machines in scikit-learn, and where to look here: the first of these that there is.
_ATTRIBUTES = {
    "C": ("lam_", "lam"),
    "C_": ("lam_",),
    "X_fit_": ("function_.points",),
    "alpha": ("lam_", "lam"),
    "alpha_": ("lam_",),
    "cluster_centers_": ("centroids_", "means_"),
    "component_indices_": ("centres_",),
    "components_": ("centres_",),
    "dual_gap_": ("solution_.certificate.gap",),
    "fit_status_": ("solution_.status",),
    "gamma": ("kernel_", "kernel"),
    "gamma_": ("kernel_",),
    "log_marginal_likelihood_value_": ("log_marginal_likelihood",),
    "n_iter_": ("n_passes_", "solution_.iterations"),
    "scale_": ("loss_.scale",),
    "t_": ("n_seen_",),
}

# Classes and functions of scikit-learn, and what does their work here.
_CLASSES = {
    "GaussianProcessClassifier": "mercer.KernelLogistic",
    "GaussianProcessRegressor": "mercer.KernelRidge",
    "GridSearchCV": "scikit-learn's takes these machines, and so does mercer.selection.tune",
    "HuberRegressor": "mercer.KernelRegressor",
    "KMeans": "mercer.KernelKMeans",
    "KNeighborsClassifier": "mercer.KernelNeighborsClassifier",
    "KNeighborsRegressor": "mercer.KernelNeighborsRegressor",
    "LinearRegression": "mercer.KernelRidge",
    "LinearSVC": "mercer.KernelClassifier",
    "LinearSVR": "mercer.KernelRegressor",
    "LogisticRegression": "mercer.KernelLogistic",
    "MiniBatchKMeans": "mercer.KernelKMeans",
    "NearestNeighbors": "mercer.KernelNearestNeighbors",
    "NuSVC": "mercer.KernelSVC",
    "NuSVR": "mercer.KernelSVR",
    "Nystroem": "mercer.features.NystromFeatures",
    "OneClassSVM": "mercer.KernelOneClass",
    "PCA": "mercer.KernelPCA",
    "PassiveAggressiveClassifier": "mercer.OnlineKernelClassifier",
    "PassiveAggressiveRegressor": "mercer.OnlineKernelRegressor",
    "Perceptron": "mercer.KernelPerceptron",
    "QuantileRegressor": "mercer.KernelRegressor",
    "RBF": "mercer.kernels.Gaussian",
    "RBFSampler": "mercer.features.RandomFourierFeatures",
    "RadiusNeighborsClassifier": "mercer.KernelRadiusNeighborsClassifier",
    "RadiusNeighborsRegressor": "mercer.KernelRadiusNeighborsRegressor",
    "RandomizedSearchCV": "scikit-learn's takes these machines, and so does mercer.selection.tune",
    "Ridge": "mercer.KernelRidge",
    "RidgeCV": "mercer.KernelRidge",
    "SGDClassifier": "mercer.OnlineKernelClassifier",
    "SGDRegressor": "mercer.OnlineKernelRegressor",
    "SVC": "mercer.KernelSVC",
    "SVR": "mercer.KernelSVR",
    "SpectralClustering": "mercer.KernelKMeans",
    "WhiteKernel": "mercer.kernels.White",
    "kneighbors_graph": "mercer.KernelNearestNeighbors",
    "radius_neighbors_graph": "mercer.KernelNearestNeighbors",
}


def missing_attribute(x: Any, name: str) -> str | None:
    """The sentence for an attribute that scikit-learn has and `x` has under another name, or None.

    Examples
    --------
    >>> from mercer import KernelSVC
    >>> missing_attribute(KernelSVC(lam=0.1), "C")
    "'KernelSVC' object has no attribute 'C': here it is lam"
    """
    for place in _ATTRIBUTES.get(name, ()):
        try:
            attrgetter(place)(x)
        except AttributeError:
            continue
        return f"{type(x).__name__!r} object has no attribute {name!r}: here it is {place}"
    return None


def missing_name(module: str, name: str) -> str:
    """What to say of a name that a module doesn't have: where there is such a thing.

    Examples
    --------
    >>> missing_name("mercer", "SVC")
    "module 'mercer' has no attribute 'SVC': here it is mercer.KernelSVC"
    >>> missing_name("mercer", "nonsense")
    "module 'mercer' has no attribute 'nonsense'"
    """
    said = f"module {module!r} has no attribute {name!r}"
    if name in _CLASSES:
        place = _CLASSES[name]
        return f"{said}: {place if ' ' in place else f'here it is {place}'}"
    # Rooms that have been entered; nothing is imported to make an error.
    rooms = [m for m in list(sys.modules) if m.startswith("mercer.") and m.count(".") == 1]
    found = [m for m in rooms if name in getattr(sys.modules[m], "__all__", ())]
    return f"{said}: it is {min(found, key=len)}.{name}" if found and not name.startswith("_") else said
