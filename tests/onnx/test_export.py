"""Machines under onnxruntime, against their own `predict`."""

import inspect
import json
import sys
from dataclasses import replace

import numpy as np
import onnxruntime
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

import mercer
import onnx
from hasty import in_haste
from mercer.estimators.base import KernelMachine
from mercer.features import NystromFeatures
from mercer.kernels import (
    ArcCosine,
    Forest,
    FunctionKernel,
    Gaussian,
    Laplacian,
    Linear,
    Polynomial,
    Precomputed,
)
from mercer.losses import FunctionLoss, Quantile
from mercer.online import Oldest, Projection
from mercer.online.machine import OnlineMachine
from mercer.onnx import to_onnx
from mercer.representations import Features, Lasso, Nystrom
from mercer.tables.model import Columns
from mercer.tables.model.machines import calibrated

RNG = np.random.default_rng(0)
X = RNG.standard_normal((60, 4))
Y = X[:, 0] + np.sin(2 * X[:, 1])
TWO = Y > 0
WORDS = np.array(["low", "middle", "high"])[np.digitize(Y, [-0.7, 0.7])]
MANY = np.digitize(Y, [-1.0, -0.3, 0.3, 1.0]) * 10
EXPRESSION = Gaussian(1.0).on([0, 2]) * ArcCosine() + 0.3 * Polynomial(3).scaled([1, 2, 3, 4]).normalize()

MACHINES = {
    "ridge": lambda: mercer.KernelRidge(lam=1e-6).fit(X, Y),
    "ridge, outputs": lambda: mercer.KernelRidge(lam=0.1, offset=True).fit(X, np.c_[Y, -Y, Y**2]),
    "ridge, one column": lambda: mercer.KernelRidge(lam=0.1).fit(X, Y[:, None]),
    "ridge, metric": lambda: mercer.KernelRidge(Laplacian(1.0).metric(X[:9].T @ X[:9]), lam=1e-4).fit(X, Y),
    "ridge, expression": lambda: mercer.KernelRidge(EXPRESSION, lam=1e-4).fit(X, Y),
    "ridge, float32": lambda: mercer.KernelRidge(lam=0.1).fit(X.astype(np.float32), Y.astype(np.float32)),
    "ridge, sparse": lambda: mercer.KernelRidge(lam=0.1).fit(sp.csr_array(X * (X > 0)), Y),
    "ridge, centres": lambda: mercer.KernelRidge(representation=Nystrom(n_centres=15), random_state=0).fit(
        X, Y
    ),
    "ridge, monomials": lambda: mercer.KernelRidge(Polynomial(3), representation=Features()).fit(X, Y),
    "ridge, waves": lambda: mercer.KernelRidge(representation=Features(n_features=40), random_state=0).fit(
        X, Y
    ),
    "ridge, nystrom features": lambda: mercer.KernelRidge(
        representation=Features(NystromFeatures(n_centres=12, random_state=0))
    ).fit(X, Y),
    "lasso": lambda: mercer.KernelRegressor(Polynomial(2), representation=Lasso(), lam=0.01).fit(X, Y),
    "quantiles": lambda: mercer.KernelRegressor(loss=Quantile([0.9, 0.1]), lam=1e-3).fit(X, Y),
    "counts": lambda: mercer.KernelRegressor(loss="poisson").fit(X, np.exp(Y)),
    "a loss of one's own": lambda: mercer.KernelRegressor(loss=FunctionLoss(lambda y, s: (y - s) ** 4)).fit(
        X, Y
    ),
    "tube": lambda: mercer.KernelSVR(lam=1e-3).fit(X, Y),
    "logistic": lambda: mercer.KernelLogistic(lam=1e-3).fit(X, TWO),
    "logistic, words": lambda: mercer.KernelLogistic(Laplacian(2.0), lam=1e-3).fit(X, WORDS),
    "one against the rest": lambda: mercer.KernelClassifier(loss="logistic", lam=0.01).fit(
        X, WORDS.astype(object)
    ),
    "multinomial of two": lambda: mercer.KernelClassifier(loss="multinomial", lam=0.01).fit(
        X, TWO.astype(float)
    ),
    "exponential": lambda: mercer.KernelClassifier(loss="exponential", lam=0.1).fit(X, TWO),
    "squared": lambda: mercer.KernelClassifier(
        loss="squared", representation=Nystrom(n_centres=9), random_state=1
    ).fit(X, WORDS),
    "margin": lambda: mercer.KernelSVC(lam=0.01).fit(X, TWO),
    "margin, probabilities": lambda: mercer.KernelSVC(lam=0.01, probability=True).fit(X, TWO),
    "margins": lambda: mercer.KernelSVC(lam=0.01).fit(X, WORDS),
    "margins, probabilities": lambda: mercer.KernelSVC(lam=0.01, probability=True).fit(X, MANY),
    "margins, rest": lambda: mercer.KernelSVC(lam=0.01, probability=True, multiclass="ovr").fit(X, MANY),
    "margins, monomials": lambda: mercer.KernelSVC(Polynomial(2), representation=Features()).fit(X, WORDS),
    "one class": lambda: mercer.KernelOneClass(nu=0.2).fit(X),
    "perceptron": lambda: mercer.KernelPerceptron(Gaussian(0.5)).fit(X, WORDS),
    "perceptron, averaged": lambda: mercer.KernelPerceptron(Gaussian(0.5), prediction="averaged").fit(X, TWO),
    "perceptron, voted": lambda: mercer.KernelPerceptron(Gaussian(0.5), prediction="voted").fit(X, WORDS),
    "online": lambda: mercer.OnlineKernelRegressor(Gaussian(1.0), budget=20, offset=True).fit(X, Y),
    "online, spanned": lambda: mercer.OnlineKernelRegressor(
        EXPRESSION, step=1e-3, budget=Projection(20), averaging=True
    ).fit(X, np.c_[Y, -Y]),
    "online, words": lambda: mercer.OnlineKernelClassifier(budget=Oldest(20), offset=True).fit(X, WORDS),
    "online, waves": lambda: mercer.OnlineKernelClassifier(
        loss="hinge", representation=Features(n_features=40), random_state=0
    ).fit(X, TWO),
    "clusters": lambda: mercer.KernelKMeans(Gaussian(1.0), 3, random_state=0).fit(X),
    "clusters, linear": lambda: mercer.KernelKMeans(Linear(), 3, random_state=0).fit(X),
    "clusters, cut": lambda: mercer.KernelKMeans(Gaussian(1.0), 2, normalized=True, random_state=0).fit(X),
    "components": lambda: mercer.KernelPCA(Gaussian(1.0), 3).fit(X),
    "components, linear": lambda: mercer.KernelPCA(Linear(), 2).fit(X),
    "components, centres": lambda: mercer.KernelPCA(EXPRESSION, 2, Nystrom(n_centres=9), random_state=0).fit(
        X
    ),
    "perceptron, two, voted": lambda: mercer.KernelPerceptron(Gaussian(0.5), prediction="voted").fit(X, TWO),
}
METHODS = {
    "prediction": "predict",
    "label": "predict",
    "scores": "decision_function",
    "probabilities": "predict_proba",
    "embedding": "transform",
}


def run(model, points):
    session = onnxruntime.InferenceSession(model.SerializeToString())
    names = [o.name for o in session.get_outputs()]
    return dict(zip(names, session.run(names, {"X": points}), strict=True))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", MACHINES)
def test_machines(name, dtype):
    machine = MACHINES[name]()
    points = np.vstack([X, RNG.standard_normal((80, 4)), np.zeros((1, 4))]).astype(dtype)
    model = to_onnx(machine, dtype=dtype)
    onnx.checker.check_model(model, full_check=True)
    outputs = run(model, points)
    wanted = {"prediction"} if not hasattr(machine, "decision_function") else {"label", "scores"}
    if not isinstance(machine, KernelMachine | mercer.KernelPerceptron | OnlineMachine):
        wanted = {"embedding"} if isinstance(machine, mercer.KernelPCA) else {"label"}
    assert set(outputs) == wanted | ({"probabilities"} if hasattr(machine, "predict_proba") else set())
    for title, values in outputs.items():
        expected = getattr(machine, METHODS[title])(points)
        assert values.shape == expected.shape
        if title == "label":
            assert values.tolist() == expected.tolist()
        else:
            assert values.dtype == dtype
            scale = np.abs(expected).max()
            assert np.abs(values - expected).max() <= (1e-10 if dtype == "float64" else 1e-5) * scale, title


def test_every_machine_is_tried():
    exported = {getattr(room, n) for room in (mercer.estimators, mercer.online) for n in room.__all__}
    wanted = {c for c in exported if inspect.isclass(c) and issubclass(c, BaseEstimator)}
    wanted -= {
        mercer.KernelNearestNeighbors,
        mercer.KernelNeighborsClassifier,
        mercer.KernelNeighborsRegressor,
        mercer.KernelRadiusNeighborsClassifier,
        mercer.KernelRadiusNeighborsRegressor,
    }  # have none, which is tested there
    assert wanted == {type(make()) for make in MACHINES.values()}


def test_a_machine_that_has_met_one_class():
    machine = mercer.OnlineKernelClassifier()
    with pytest.raises(NotFittedError):
        to_onnx(machine)
    machine.learn_one(X[0], "low")
    with pytest.raises(TypeError, match="one class only"):
        to_onnx(machine)
    machine.learn_one(X[1], "high")
    assert run(to_onnx(machine), X)["label"].tolist() == machine.predict(X).tolist()


def test_batches_of_any_size():
    machine = mercer.KernelRidge().fit(X, Y)
    session = onnxruntime.InferenceSession(to_onnx(machine).SerializeToString())
    for n in (0, 1, 7):
        assert session.run(None, {"X": X[:n]})[0].shape == (n,)


def test_a_function_without_terms():
    machine = mercer.KernelSVR(epsilon=10.0).fit(X, Y)  # all targets lie in the tube
    assert len(machine.function_) == 0
    np.testing.assert_allclose(run(to_onnx(machine), X)["prediction"], machine.predict(X))


def test_what_is_written(tmp_path):
    machine = mercer.KernelLogistic(lam=0.1).fit(pd.DataFrame(X, columns=list("abcd")), WORDS)
    model = to_onnx(machine, tmp_path / "it.onnx", name="sizes")
    assert onnx.load(tmp_path / "it.onnx") == model
    assert model.graph.name == "sizes" and model.producer_name == "mercer"
    assert model.producer_version == mercer.__version__
    assert "KernelLogistic with Gaussian" in model.doc_string
    assert json.loads({p.key: p.value for p in model.metadata_props}["columns"]) == list("abcd")
    assert {o.domain: o.version for o in model.opset_import} == {"": 17}


def test_models_and_pipelines_of_columns_and_a_machine():
    table = {"size": X[:, 0], "width": X[:, 1], "colour": np.where(X[:, 2] > 0, "red", "blue").astype(object)}
    pipe = Pipeline([("columns", Columns()), ("machine", mercer.KernelRidge())]).fit(table, Y)
    exported = to_onnx(pipe)
    prepared = pipe["columns"].transform(table)
    np.testing.assert_allclose(run(exported, prepared)["prediction"], pipe.predict(table))
    assert json.loads(exported.metadata_props[0].value) == ["size", "width", "colour = red"]
    with in_haste():
        model = mercer.fit(table, MANY, minutes=0.001)
    points = model.columns.transform(table)
    squared = mercer.KernelClassifier(loss="squared", offset=True).fit(points, MANY)
    model = replace(model, machine=squared, calibration=calibrated(squared, points, MANY, 0))
    outputs = run(to_onnx(model), points)
    assert outputs["label"].tolist() == model.predict(table).tolist()
    np.testing.assert_allclose(outputs["probabilities"], model.predict_proba(table), atol=1e-12)


@pytest.mark.parametrize(
    "wanted",
    [{"threshold": 0.3}, {"costs": {(0, 1): 4}}, {"class_weight": {0: 5}}],
    ids=lambda w: next(iter(w)),
)
def test_models_decide_as_they_do_in_python(wanted):
    labels = (X[:, 0] + 0.5 * X[:, 2] > 0.5).astype(int)
    with in_haste():
        model = mercer.fit({"size": X[:, 0], "width": X[:, 1]}, labels, minutes=0.001, **wanted)
    table = {"size": np.linspace(-3, 3, 200), "width": np.zeros(200)}
    outputs = run(to_onnx(model), model.columns.transform(table))
    assert outputs["label"].tolist() == model.predict(table).tolist()
    np.testing.assert_allclose(outputs["probabilities"], model.predict_proba(table), atol=1e-9)
    likeliest = model.predict_proba(table).argmax(axis=1)
    assert (model.predict(table) != likeliest).any()  # otherwise there is nothing to see here


def test_other_pipelines():
    with pytest.raises(TypeError, match=r"(?s)a pipeline of mercer's columns .*export its last step"):
        to_onnx(make_pipeline(StandardScaler(), mercer.KernelRidge()).fit(X, Y))


@pytest.mark.parametrize(
    "machine, match",
    [
        (lambda: mercer.KernelRidge(FunctionKernel(np.dot)).fit(X, Y), "not a kernel on vectors"),
        (lambda: mercer.KernelRidge(Precomputed()).fit(Gaussian(1.0)(X), Y), "not a kernel on vectors"),
        (
            lambda: mercer.KernelRidge(Linear() + Linear().pullback(np.square)).fit(X, Y),
            "not a kernel on vectors",
        ),
        (
            lambda: mercer.KernelRidge(Linear() + 0.5 * Forest.grow(X[:30], Y[:30], trees=5)).fit(X, Y),
            "^a forest is a term of the kernel, and forests have no ONNX version: use the model itself",
        ),
        (lambda: StandardScaler().fit(X), "takes a fitted machine of mercer's, got StandardScaler"),
        (lambda: Gaussian(1.0), "takes a fitted machine of mercer's, got Gaussian"),
        (
            lambda: mercer.KernelRidge(Linear(), representation=Features(StandardScaler())).fit(X, Y),
            r"has no ONNX version: the feature map StandardScaler\(\)",
        ),
    ],
)
def test_refusals(machine, match):
    with pytest.raises(TypeError, match=match):
        to_onnx(machine())


def test_other_refusals(monkeypatch):
    with pytest.raises(NotFittedError):
        to_onnx(mercer.KernelRidge())
    machine = mercer.KernelRidge().fit(X, Y)
    with pytest.raises(ValueError, match="dtype must be 'float64' or 'float32', got 'float16'"):
        to_onnx(machine, dtype="float16")
    with monkeypatch.context() as patch:
        patch.setattr("mercer.onnx.export._LARGEST", 100)
        with pytest.raises(ValueError, match="ONNX files end at 2 GB; fit with fewer centres"):
            to_onnx(machine)
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r"pip install 'mercer\[export\]'"):
        to_onnx(machine)
