"""Data sets that lie beside the checkout, and a noisy one made from a seed: the same numbers for everyone.

They are looked for in ``../shared/data`` and ``shared/data``, or where MERCER_DATA says.
"""

from __future__ import annotations

import os
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

_ROOT = Path(__file__).resolve().parents[1]
_PLACES = (_ROOT.parent / "shared" / "data", _ROOT / "shared" / "data")
FILES = {
    "a9a": "libsvm/a9a.npz",
    "letter": "libsvm/letter_scale.npz",
    "covtype": "covtype.npz",
    "elec2": "elec2.npz",
    "phishing": "phishing_river.npz",
    "MNIST": "mnist.npz",
    "USPS": "usps.npz",
    "skillcraft": "uci/skillcraft.npz",
    "wind": "pmlb/503_wind.npz",
    "cal_housing": "openml_like/cal_housing.npz",
    "MUTAG": "graphs/MUTAG.npz",
    "PTC": "graphs/PTC.npz",
    "ENZYMES": "graphs/ENZYMES.npz",
    "IMDB-BINARY": "graphs/IMDBBINARY.npz",
    "promoters": "text/promoters.npz",
    "splice": "text/splice.npz",
    "SMS spam": "text/sms_spam.npz",
    "names": "text/names_nationality.npz",
    "Reuters R8": "text/reuters_r8.npz",
    "C. elegans": "text/celegans_acceptor_100k.npz",
    "C. elegans, to choose by": "text/celegans_acceptor_modsel.npz",
}

Split = tuple[Any, np.ndarray, Any, np.ndarray]


def folder(given: str = "") -> Path:
    places = [Path(p) for p in (given, os.environ.get("MERCER_DATA")) if p] or list(_PLACES)
    return next((p for p in places if p.is_dir()), places[0])


def missing(name: str, given: str = "") -> str | None:
    """Why the set can't be had here; None if it can."""
    if name not in FILES or _path(name, given).exists():
        return None
    return f"{FILES[name]} isn't in {'the folder given' if given else 'the data folder'}"


def classes(name: str, n: int, test: int, dtype: str = "float64", given: str = "") -> Split:
    """Training and test rows of a classification set; a9a comes as CSR, everything else dense."""
    X, y, T, u = _CLASSES[name](n, test, given)
    return X.astype(dtype), y, T.astype(dtype), u


def table(name: str, rows: int = 15_000) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """X, y and the test fold (0–9) of every row: the set's own folds where it has them."""
    rng = np.random.default_rng(0)
    with np.load(_path(name), allow_pickle=False) as file:
        X, y = file["X"].astype(np.float64), file["y"].astype(np.float64)
        fold = file["fold"] if "fold" in file else rng.permutation(np.arange(len(y)) % 10)
    keep = np.sort(rng.permutation(len(y))[:rows])
    return X[keep], y[keep], fold[keep]


def graphs(name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Graphs, their classes, and the test fold of every graph (−1: none). A single label is no label."""
    from mercer.graphs import Graph

    with np.load(_path(name), allow_pickle=False) as file:
        nodes, ends = file["node_off"], file["edge_off"]
        labels, edges = file["node_label"], file["edges"]
        y, fold = file["y"], file["fold"]
    labelled = len(np.unique(labels)) > 1
    out = np.empty(len(y), object)
    for i in range(len(y)):
        mine = slice(nodes[i], nodes[i + 1])
        n, own = int(nodes[i + 1] - nodes[i]), labels[mine] if labelled else None
        out[i] = Graph(edges[ends[i] : ends[i + 1]], n_nodes=n, node_labels=own)
    return out, y, fold


def strings(name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Strings, their classes, and which of them the set itself says to test on (none, where it doesn't)."""
    with np.load(_path(name), allow_pickle=False) as file:
        if "train_y" in file:
            parts = [_cut(file[f"{part}_text"], file[f"{part}_off"]) for part in ("train", "test")]
            y = np.concatenate([file["train_y"], file["test_y"]])
            return np.concatenate(parts), y, np.repeat([False, True], [len(part) for part in parts])
        if "text" in file:
            X = _cut(file["text"], file["off"])
        else:
            X = np.array([bytes(row).decode() for row in file["seq"]], object)
        return X, file["y"], np.zeros(len(X), bool)


def _cut(text: np.ndarray, ends: np.ndarray) -> np.ndarray:
    held = text.tobytes()
    return np.array([held[a:b].decode() for a, b in pairwise(ends.tolist())], object)


def scale(X: Any) -> float:
    """1/(d Var X), which scikit-learn calls gamma="scale"."""
    mean = X.mean()
    square = X.multiply(X).mean() if hasattr(X, "multiply") else np.square(X, dtype=np.float64).mean()
    return float(1 / (X.shape[1] * (square - mean**2)))


def _path(name: str, given: str = "") -> Path:
    path = folder(given) / FILES[name]
    # Where only a few files were carried to another machine, they lie side by side.
    return path if path.exists() else folder(given) / Path(FILES[name]).name


def _noisy(n: int, test: int, given: str) -> Split:
    """Two classes in twenty coordinates, three of which matter; every tenth label is wrong."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n + test, 20))
    y = ((np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] > 0) ^ (rng.random(n + test) < 0.1)).astype(int)
    return X[:n], y[:n], X[n:], y[n:]


def _a9a(n: int, test: int, given: str) -> Split:
    from scipy.sparse import csr_matrix

    with np.load(_path("a9a", given), allow_pickle=False) as file:
        parts = []
        d = max(int(file[f"X_{part}_shape"][1]) for part in ("train", "test"))
        for part, rows in (("train", n), ("test", test)):
            values = (file[f"X_{part}_{key}"] for key in ("data", "indices", "indptr"))
            y = file[f"y_{part}"]
            parts += [csr_matrix(tuple(values), shape=(len(y), d))[:rows], y[:rows].astype(int)]
    return tuple(parts)  # type: ignore[return-value]


def _letter(n: int, test: int, given: str) -> Split:
    return _train_and_test("letter", n, test, given)


def _mnist(n: int, test: int, given: str) -> Split:
    """The first rows of both parts, divided by 255."""
    X, y, T, u = _train_and_test("MNIST", n, test, given)
    return X.reshape(len(X), -1) / np.float32(255), y, T.reshape(len(T), -1) / np.float32(255), u


def _usps(n: int, test: int, given: str) -> Split:
    return _train_and_test("USPS", n, test, given)


def _train_and_test(name: str, n: int, test: int, given: str) -> Split:
    with np.load(_path(name, given), allow_pickle=False) as file:
        X, y, T, u = (file[key] for key in ("X_train", "y_train", "X_test", "y_test"))
    return X[:n], y[:n].astype(int), T[:test], u[:test].astype(int)


def _covtype(n: int, test: int, given: str) -> Split:
    """Class 2 against the rest, rows at random, columns standardised by the training rows."""
    with np.load(_path("covtype", given), allow_pickle=False) as file:
        X, y = file["X"], file["y"]
    order = np.random.default_rng(0).permutation(len(y))[: n + test]
    X, y = X[order].astype(np.float64), (y[order] == 2).astype(int)
    mean, std = X[:n].mean(axis=0), X[:n].std(axis=0)
    X = (X - mean) / np.where(std > 0, std, 1.0)
    return X[:n], y[:n], X[n:], y[n:]


_CLASSES = {
    "noisy": _noisy,
    "a9a": _a9a,
    "letter": _letter,
    "MNIST": _mnist,
    "USPS": _usps,
    "covtype": _covtype,
}
