"""Saved and loaded, everything is as it was; and what can't be saved, or is no model, is said so."""

import inspect
import os
import pickle
import stat
import zipfile

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.validation import check_is_fitted

import mercer
from hasty import in_haste
from mercer import features, kernels
from mercer.engines import Cuda, Tiled
from mercer.functions import KernelFunction, section, zero
from mercer.io import ModelFileError, load, save
from mercer.kernels import ArcCosine, Finite, FunctionKernel, Gaussian, Linear, Polynomial, Precomputed
from mercer.losses import FunctionLoss, Huber, Poisson, Quantile
from mercer.online import Oldest, Projection
from mercer.representations import Features, Lasso, Nystrom

RNG = np.random.default_rng(0)
X = RNG.standard_normal((40, 3))
Y = X[:, 0] + np.sin(2 * X[:, 1])
WORDS = np.array(["low", "middle", "high"])[np.digitize(Y, [-0.7, 0.7])]


MACHINES = {
    "ridge": lambda: mercer.KernelRidge(lam=0.1).fit(X, Y),
    "ridge, many outputs": lambda: mercer.KernelRidge(lam=0.1, offset=True).fit(X, np.c_[Y, -Y, Y**2]),
    "ridge, float32": lambda: mercer.KernelRidge(lam=0.1).fit(X.astype(np.float32), Y.astype(np.float32)),
    "ridge, an expression": lambda: mercer.KernelRidge(
        Gaussian(1.0).on([0, 2]) * ArcCosine() + 0.3 * Polynomial(3).scaled([1, 2, np.float32(3)])
    ).fit(X, Y),
    "ridge, centres": lambda: mercer.KernelRidge(representation=Nystrom(n_centres=9), random_state=0).fit(
        X, Y
    ),
    "ridge, centres given": lambda: mercer.KernelRidge(representation=Nystrom(centres=X[:7])).fit(X, Y),
    "ridge, monomials": lambda: mercer.KernelRidge(Polynomial(3), representation=Features()).fit(X, Y),
    "ridge, random features": lambda: mercer.KernelRidge(
        representation=Features(n_features=30), random_state=np.random.RandomState(5)
    ).fit(X, Y),
    "ridge, a feature map": lambda: mercer.KernelRidge(
        representation=Features(features.NystromFeatures(n_centres=11, random_state=0))
    ).fit(X, Y),
    "ridge, matrix": lambda: mercer.KernelRidge(Precomputed()).fit(Gaussian(1.0)(X), Y),
    "ridge, sparse": lambda: mercer.KernelRidge(lam=0.1).fit(sp.csr_matrix(X * (X > 0)), Y),
    "lasso": lambda: mercer.KernelRegressor(Polynomial(2), representation=Lasso(), lam=0.01).fit(X, Y),
    "quantiles": lambda: mercer.KernelRegressor(loss=Quantile([0.9, 0.1]), lam=0.01).fit(X, Y),
    "counts": lambda: mercer.KernelRegressor(loss=Poisson()).fit(X, np.exp(Y)),
    "robust": lambda: mercer.KernelRegressor(loss=Huber(0.5)).fit(X, Y),
    "tube": lambda: mercer.KernelSVR(lam=mercer.FromC(2.0)).fit(X, Y),
    "logistic": lambda: mercer.KernelLogistic(lam=0.1).fit(X, Y > 0),
    "logistic, words": lambda: mercer.KernelLogistic(lam=0.1, class_weight="balanced").fit(X, WORDS),
    "logistic, objects": lambda: mercer.KernelLogistic(lam=0.1).fit(X, WORDS.astype(object)),
    "classifier": lambda: mercer.KernelClassifier(loss="exponential", class_weight={0: 1.0, 1: 2.5}).fit(
        X, (Y > 0).astype(int)
    ),
    "margin": lambda: mercer.KernelSVC(lam=0.05).fit(X, Y > 0),
    "margins, probabilities": lambda: mercer.KernelSVC(lam=0.05, probability=True).fit(X, WORDS),
    "margins, in groups": lambda: mercer.KernelSVC(lam=0.05).fit(
        X[:, :1], np.digitize(Y, [-1, -0.5, 0, 0.5, 1])
    ),
    "margin, centres": lambda: mercer.KernelSVC(representation=Nystrom(n_centres=9), random_state=0).fit(
        X, Y > 0
    ),
    "one class": lambda: mercer.KernelOneClass(nu=0.2).fit(X),
    "neighbours": lambda: mercer.KernelNeighborsClassifier(Gaussian(0.5), weights="distance").fit(X, WORDS),
    "neighbours, of nothing": lambda: mercer.KernelNearestNeighbors().fit(X),
    "within a radius": lambda: mercer.KernelRadiusNeighborsClassifier(radius=2.0, outlier_label="far").fit(
        X, WORDS
    ),
    "within a radius, mean": lambda: mercer.KernelRadiusNeighborsRegressor(radius=2.0).fit(X, Y),
    "neighbours, mean": lambda: mercer.KernelNeighborsRegressor(n_neighbors=4).fit(X, np.c_[Y, -Y]),
    "clusters": lambda: mercer.KernelKMeans(n_clusters=3, random_state=0).fit(X),
    "clusters, cut": lambda: mercer.KernelKMeans(n_clusters=3, normalized=True, random_state=0).fit(X),
    "components": lambda: mercer.KernelPCA(n_components=3).fit(X),
    "components, centres": lambda: mercer.KernelPCA(
        n_components=3, representation=Nystrom(n_centres=9), random_state=0
    ).fit(X),
    "components, linear": lambda: mercer.KernelPCA(Linear(), 2).partial_fit(X),
    "perceptron": lambda: mercer.KernelPerceptron(Gaussian(0.5)).fit(X, Y > 0),
    "perceptron, votes": lambda: mercer.KernelPerceptron(Gaussian(0.5), prediction="voted").fit(X, WORDS),
    "online": lambda: mercer.OnlineKernelRegressor(budget=20, averaging=True).fit(X, Y),
    "online, spanned": lambda: mercer.OnlineKernelRegressor(budget=Projection(9)).fit(X, np.c_[Y, -Y]),
    "online, words": lambda: mercer.OnlineKernelClassifier(budget=Oldest(9), offset=True).fit(X, WORDS),
    "online, features": lambda: mercer.OnlineKernelClassifier(
        representation=Features(n_features=30), random_state=np.random.RandomState(5)
    ).fit(X, Y > 0),
    "named columns": lambda: mercer.KernelRidge(lam=0.1).fit(pd.DataFrame(X, columns=list("abc")), Y),
}


def points_for(machine):
    if isinstance(machine.kernel, Precomputed):
        return Gaussian(1.0)(X[:5], X)
    if hasattr(machine, "feature_names_in_"):
        return pd.DataFrame(X, columns=list("abc"))
    if sp.issparse(getattr(getattr(machine, "function_", None), "points", None)):
        return sp.csr_array(X)
    return X[:, : machine.n_features_in_]


@pytest.mark.parametrize("name", MACHINES)
def test_machines(name, again):
    machine = MACHINES[name]()
    other = again(machine)
    check_is_fitted(other)
    assert type(other) is type(machine)
    if not isinstance(getattr(machine, "random_state", None), np.random.RandomState):
        assert repr(other) == repr(machine)
        assert repr(other.get_params()) == repr(machine.get_params())
    assert repr(clone(other).get_params(deep=False).keys()) == repr(machine.get_params(deep=False).keys())
    there = points_for(machine)
    for method in ("predict", "decision_function", "predict_proba", "score_samples", "transform"):
        if hasattr(machine, method):
            here, now = getattr(machine, method)(there), getattr(other, method)(there)
            assert here.dtype == now.dtype and np.array_equal(here, now), method
    assert repr(getattr(other, "function_", None)) == repr(getattr(machine, "function_", None))
    if hasattr(machine, "solution_"):
        assert str(other.solution_) == str(machine.solution_)
        assert str(other.plan_) == str(machine.plan_)
        assert (other.solution_.coef is other.solution_.dual_coef) == (
            machine.solution_.coef is machine.solution_.dual_coef
        )
    assert "_problem" not in vars(other)


def test_every_estimator_is_tried():
    exported = {getattr(room, n) for room in (mercer.estimators, mercer.online) for n in room.__all__}
    wanted = {c for c in exported if inspect.isclass(c) and issubclass(c, BaseEstimator)}
    assert wanted <= {type(make()) for make in MACHINES.values()}


def test_a_loaded_machine_is_fitted_again(again):
    machine = again(mercer.KernelSVC(lam=0.05, warm_start=True).fit(X, Y > 0))
    assert np.array_equal(
        machine.fit(X, Y > 0).predict(X), mercer.KernelSVC(lam=0.05).fit(X, Y > 0).predict(X)
    )


def test_a_machine_not_fitted(again):
    machine = mercer.KernelRidge(Gaussian() + Linear(), lam=0.3, engine=Tiled(threads=2))
    assert repr(again(machine)) == repr(machine)


def test_leave_one_out_survives_if_it_was_asked_for(again):
    machine = mercer.KernelRidge(lam=0.1).fit(X, Y)
    with pytest.raises(AttributeError, match="needs the training data"):
        again(machine).loo_residuals()
    residuals = machine.loo_residuals()
    assert np.array_equal(again(machine).loo_residuals(), residuals)


def test_random_states(again):
    for state in (
        np.random.RandomState(3),
        np.random.default_rng(3),
        np.random.Generator(np.random.Philox(3)),
    ):
        state.normal(size=3)  # somewhere in the middle
        other = again(mercer.KernelRidge(random_state=state)).random_state
        assert np.array_equal(state.normal(size=5), other.normal(size=5))


# -- functions ------------------------------------------------------------------------------------


def test_functions(again):
    f = KernelFunction(Gaussian(1.0) * Linear(), X, np.c_[Y, -2 * Y])
    for g in (f, f.output(1), f + 3 * f, section(Polynomial(2), [1.0, 2.0, 3.0]), f.compress(0.1)):
        other = again(g)
        assert repr(other) == repr(g)
        assert np.array_equal(other(X), g(X))
        assert other.distance(g) == 0
    assert repr(again(zero(Gaussian(1.0).scaled([1.0, 2.0]), 3))) == repr(
        zero(Gaussian(1.0).scaled([1.0, 2.0]), 3)
    )
    assert np.array_equal(again(f.zero())(X), np.zeros((40, 2)))
    h = section(Finite(np.eye(4)), 2)
    assert again(h)([0, 2]).tolist() == [0.0, 1.0]


def test_functions_of_a_gpu_come_back_on_the_cpu_where_there_is_none(again, monkeypatch):
    from mercer.engines import cuda

    f = KernelFunction(Gaussian(1.0), X, Y, Cuda(precision="fast"))

    def no_device(device):
        raise RuntimeError("no GPU")

    monkeypatch.setattr(cuda, "require", no_device)
    other = again(f)
    assert other.engine == Tiled()
    assert np.array_equal(other(X), KernelFunction(Gaussian(1.0), X, Y)(X))
    # What was asked for stays as it was said.
    assert again(mercer.KernelRidge(engine=Cuda())).engine == Cuda()


def test_models_of_tables(again):
    rng = np.random.default_rng(0)
    table = {
        "size": rng.standard_normal(80),
        "colour": np.array(["red", "blue", None] * 27, dtype=object)[:80],
    }
    table["day"] = np.datetime64("2024-01-01", "us") + rng.integers(0, 10**8, 80).astype("m8[s]")
    y = table["size"] + (table["colour"] == "red") + 0.3 * rng.standard_normal(80)
    for target in (y, np.array(["a", "b", "c"])[np.digitize(y, [0, 1])]):
        with in_haste():
            model = mercer.fit(table, target, minutes=1e-3)
        other = again(model)
        assert repr(other) == repr(model) and other.summary() == model.summary()
        assert np.array_equal(other.predict(table), model.predict(table))
        if model.task == "regression":
            assert np.array_equal(other.predict_interval(table), model.predict_interval(table))
        else:
            assert np.array_equal(other.predict_proba(table), model.predict_proba(table))
            assert other.classes_.tolist() == ["a", "b", "c"]
        assert np.array_equal(again(model.pipeline_).predict(table), model.predict(table))


def test_a_pipeline_of_mercers_own_steps(again):
    pipe = make_pipeline(features.NystromFeatures(n_centres=12, random_state=0), mercer.KernelRidge(Linear()))
    pipe.fit(X, Y)
    other = again(pipe)
    check_is_fitted(other)
    assert repr(other) == repr(pipe)
    assert np.array_equal(other.predict(X), pipe.predict(X))
    with pytest.raises(ModelFileError, match=r"Pipeline.memory is set.*set it to None"):
        again(Pipeline([("machine", mercer.KernelRidge())], memory="somewhere"))


# -- the file -------------------------------------------------------------------------------------


def test_the_same_model_makes_the_same_bytes(tmp_path):
    machine = mercer.KernelRidge(lam=0.1).fit(X, Y)
    save(machine, tmp_path / "a.mercer")
    save(load(tmp_path / "a.mercer"), tmp_path / "b.mercer")
    assert (tmp_path / "a.mercer").read_bytes() == (tmp_path / "b.mercer").read_bytes()


def test_arrays_are_stored_once(tmp_path):
    """Coefficients are part of the machine, its function and its solution, but lie in memory once."""
    machine = mercer.KernelRidge(lam=0.1).fit(RNG.standard_normal((2000, 20)), RNG.standard_normal(2000))
    save(machine, tmp_path / "a.mercer")
    numbers = 8 * (2000 * 20 + 2000)
    assert numbers < os.path.getsize(tmp_path / "a.mercer") < numbers + 6000
    other = load(tmp_path / "a.mercer")
    assert np.shares_memory(other.dual_coef_, other.solution_.coef)


def test_other_programmes_can_read_it(tmp_path):
    save(mercer.KernelRidge(lam=0.1).fit(X, Y), tmp_path / "a.mercer")
    with np.load(tmp_path / "a.mercer", allow_pickle=False) as npz:
        assert any(
            npz[name].shape == X.shape and (npz[name] == X).all() for name in npz if name != "model.json"
        )


def test_saving_is_atomic(tmp_path, monkeypatch):
    path = tmp_path / "a.mercer"
    save(Gaussian(1.0), path)
    os.chmod(path, 0o640)
    before = path.read_bytes()
    with pytest.raises(ModelFileError, match="FunctionKernel.function is the Python function"):
        save(FunctionKernel(max), path)

    def full(*args, **kwargs):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(zipfile.ZipFile, "writestr", full)
        with pytest.raises(
            ModelFileError, match=r"can't write .*a.mercer: No space left on device; nothing was"
        ):
            save(Linear(), path)
    assert path.read_bytes() == before and os.listdir(tmp_path) == ["a.mercer"]
    save(Linear(), path)
    assert load(path) == Linear() and os.listdir(tmp_path) == ["a.mercer"]
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o640


def test_no_byte_is_altered_unnoticed(tmp_path):
    path = tmp_path / "a.mercer"
    save(Gaussian(1.0).scaled(np.array([1.0, 2.0])), path)
    blob = path.read_bytes()
    for i in range(len(blob)):
        path.write_bytes(blob[:i] + bytes([blob[i] ^ (1 << i % 8)]) + blob[i + 1 :])
        with pytest.raises(ModelFileError):
            load(path)
    for i in range(0, len(blob), 7):
        path.write_bytes(blob[:i])
        with pytest.raises(ModelFileError):
            load(path)


class Cauchy(kernels.Radial):
    def __init__(self, sigma=1.0):
        self.sigma = sigma

    def profile(self, r2, xp):
        return 1 / (1 + r2 / self.sigma)


@pytest.mark.parametrize(
    "thing, match",
    [
        (
            FunctionKernel(len),
            r"FunctionKernel.function is the Python function or class len: files hold data",
        ),
        (Linear() + Linear().pullback(np.square), r"Sum.right.map is the Python function or class square"),
        (
            FunctionLoss(lambda y, s: (y - s) ** 2),
            r"FunctionLoss.function is .*<lambda>.*one of mercer's kernels",
        ),
        (mercer.KernelRidge(Cauchy()), r"KernelRidge.kernel is a Cauchy of .*mercer's own classes only"),
        (mercer.KernelRidge(Gaussian), r"KernelRidge.kernel is the Python function or class Gaussian"),
        (
            make_pipeline(FunctionTransformer(np.log), mercer.KernelRidge()),
            r"steps\[0\]\[1\] is a FunctionTransformer of sklearn.*whose function is code",
        ),
        (
            mercer.KernelRidge(Gaussian(-1.0)),
            r"KernelRidge.kernel is not in order: .*sigma must be a positive",
        ),
        (mercer.KernelRidge("gausian"), r"KernelRidge is not in order: .*did you mean 'gaussian'"),
        (
            Finite(np.eye(2, dtype=complex)),
            r"Finite.matrix is a ndarray of complex128, which files have no form",
        ),
        ({"a": [1, {2, 3}]}, r"dict\['a'\]\[1\] is a set, which files have no form for"),
        ([10**5000], "more digits than files hold"),
        (np.ma.array([1.0]), "MaskedArray of float64, which files have no form for"),
    ],
)
def test_what_can_not_be_saved(thing, match, tmp_path):
    with pytest.raises(ModelFileError, match=match) as error:
        save(thing, tmp_path / "a.mercer")
    assert "a.mercer" in str(error.value)
    assert not list(tmp_path.iterdir())


def test_files_that_are_no_models(tmp_path):
    def refused(match, content=None, name="a.mercer"):
        if content is not None:
            (tmp_path / name).write_bytes(content)
        with pytest.raises(ModelFileError, match=match) as error:
            load(tmp_path / name)
        assert name in str(error.value)

    refused("No such file")
    refused("Is a directory|Permission denied", name="")
    refused("not a model saved by mercer.save", b"")
    refused("not a model saved by mercer.save", pickle.dumps(Gaussian(1.0)))
    np.savez(tmp_path / "b.npz", a=X)
    refused("another kind of zip file", name="b.npz")
    with pytest.raises(ModelFileError, match="can't write .*No such file"):
        save(Linear(), tmp_path / "nowhere" / "a.mercer")


def test_errors_are_value_errors():
    assert issubclass(ModelFileError, ValueError)
