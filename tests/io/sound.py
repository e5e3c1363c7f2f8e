"""Model files that are as they should be; how to take them apart and put them together again."""

from __future__ import annotations

import hashlib
import io
import json
import tempfile
import warnings
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from mercer import (
    KernelClassifier,
    KernelKMeans,
    KernelLogistic,
    KernelNeighborsClassifier,
    KernelOneClass,
    KernelPCA,
    KernelPerceptron,
    KernelRadiusNeighborsClassifier,
    KernelRegressor,
    KernelRidge,
    KernelSVC,
    OnlineKernelClassifier,
    OnlineKernelRegressor,
    fit,
)
from mercer.io import save
from mercer.kernels import ArcCosine, Gaussian, Linear, Polynomial
from mercer.losses import Quantile
from mercer.online import AtRandom, Merge, Projection, krls
from mercer.representations import Features, Nystrom

_SEAL = b"mercer sha256 "


def data() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((24, 3))
    y = X[:, 0] + np.sin(X[:, 1])
    return X, y, np.array(["low", "middle", "high"])[np.digitize(y, [-0.7, 0.7])]


def table() -> dict[str, np.ndarray]:
    """A table with a column of every kind, and gaps."""
    X = np.random.default_rng(1).standard_normal((60, 3))
    days = np.datetime64("2024-01-01", "us") + (X[:, 1] * 1e8).astype("m8[s]")
    size = np.where(X[:, 0] > 1.2, np.nan, X[:, 0])
    return {"size": size, "colour": np.where(X[:, 2] > 0, "red", "blue").astype(object), "day": days}


def prepared() -> Pipeline:
    """A machine behind scikit-learn's transformers."""
    scaled = make_pipeline(SimpleImputer(), StandardScaler())
    parts = [("number", scaled, [0]), ("label", OneHotEncoder(handle_unknown="ignore"), [2])]
    columns = ColumnTransformer(parts, remainder=SimpleImputer())
    return make_pipeline(columns, KernelRidge(Gaussian(1.0), lam=0.1))


def machines() -> list[Any]:
    """Fitted machines whose files have every part that files can have."""
    X, y, labels = data()
    noise = 0.3 * np.random.default_rng(2).standard_normal(60)
    number = np.nan_to_num(table()["size"]) + (table()["colour"] == "red") + noise
    sparse = sp.csr_array(X * (np.abs(X) > 0.5))
    expression = 0.5 * Gaussian(1.0).on([0, 2]) + (Linear() ** 2).scaled(
        [1.0, 2.0, 3.0]
    ) * ArcCosine().metric(np.eye(3))
    return [
        KernelRidge(expression, lam=0.1).fit(X, y),
        KernelRidge(Polynomial(2), representation=Features(), lam=0.1).fit(X, np.c_[y, -y]),
        KernelRidge(representation=Features(n_features=10), random_state=np.random.RandomState(1)).fit(X, y),
        KernelRegressor(loss=Quantile([0.1, 0.9]), representation=Nystrom(n_centres=6), random_state=0).fit(
            X, y
        ),
        KernelLogistic(lam=0.1, class_weight={"low": 2.0, "high": 1.0, "middle": 1.0}).fit(X, labels),
        KernelClassifier(Gaussian(1.0), loss="hinge", lam=0.1).fit(sparse, labels == "low"),
        KernelSVC(probability=True, lam=0.05).fit(X, labels),
        KernelOneClass(nu=0.3).fit(X),
        KernelPCA(n_components=2, representation=Nystrom(n_centres=6), random_state=0).fit(X),
        KernelKMeans(Gaussian(1.0), n_clusters=3, random_state=0).fit(X),
        KernelKMeans(Linear(), n_clusters=3, random_state=0).fit(X),
        KernelPerceptron(Gaussian(0.5), prediction="voted").fit(X, labels),
        KernelNeighborsClassifier(Polynomial(2), weights="distance").fit(X, labels),
        KernelRadiusNeighborsClassifier(metric="manhattan", radius=9.0, outlier_label="far").fit(X, labels),
        OnlineKernelRegressor(Gaussian(1.0), budget=AtRandom(9), averaging=True).fit(X, np.c_[y, -y]),
        OnlineKernelClassifier(Gaussian(1.0), budget=Merge(9), offset=True).fit(X, labels),
        OnlineKernelClassifier(Gaussian(1.0), "hinge", budget=Projection(9)).fit(X, labels == "low"),
        OnlineKernelRegressor(representation=Features(n_features=10), random_state=1).fit(X, y),
        OnlineKernelRegressor(representation=Nystrom(n_centres=6), random_state=1).fit(X, y),
        krls(Gaussian(1.0), 9).fit(X, y),
        KernelRidge(Gaussian(1.0).normalize(), lam=0.1).fit(X, y).function_,
        prepared().fit(X, y),
        make_pipeline(PCA(2), KernelRidge(Gaussian(1.0), lam=0.1)).fit(X, y),
        fit(table(), number, minutes=1e-3),
        fit(table(), np.array(["a", "b", "c"])[np.digitize(number, [-0.5, 0.5])], minutes=1e-3),
    ]


def originals() -> list[bytes]:
    """The files of `machines`."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.mercer")
        out = []
        for machine in machines():
            save(machine, path)
            out.append(path.read_bytes())
        return out


# -- taking files apart, and putting them together ------------------------------------------------


def parts(blob: bytes) -> tuple[dict[str, Any], list[bytes]]:
    """What model.json says, and the array members."""
    with zipfile.ZipFile(io.BytesIO(blob)) as archive:
        first, *names = archive.namelist()
        return json.loads(archive.read(first)), [archive.read(name) for name in names]


def together(members: list[tuple[str, bytes]], method: int = zipfile.ZIP_STORED) -> bytes:
    """A zip file of these members, sealed."""
    out = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(out, "w", method) as archive:
        warnings.simplefilter("ignore")  # of names that come twice
        archive.comment = _SEAL + b"0" * 64
        for name, content in members:
            archive.writestr(zipfile.ZipInfo(name), content, method)
    return sealed(out.getvalue())


def sealed(blob: bytes) -> bytes:
    """The file with the right checksum at its end."""
    return blob[:-64] + hashlib.sha256(blob[:-64]).hexdigest().encode()


def file_of(structure: Any, arrays: list[bytes]) -> bytes:
    text = structure if isinstance(structure, bytes) else json.dumps(structure).encode()
    return together([("model.json", text), *((f"arrays/{i}.npy", a) for i, a in enumerate(arrays))])
