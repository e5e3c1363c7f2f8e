"""Everything that can be wrong with what a machine is given, and what is said about it."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from mercer import KernelClassifier, KernelLogistic, KernelRegressor, KernelRidge
from mercer.engines import Tiled
from mercer.kernels import Finite, FunctionKernel, Gaussian, Linear, Polynomial
from mercer.losses import Huber, Logistic
from mercer.operators.factor import NotPositiveDefinite
from mercer.representations import Full
from mercer.solvers import Cholesky

RNG = np.random.default_rng(0)
X = RNG.standard_normal((20, 3))
MACHINES = [KernelRidge, KernelRegressor, KernelLogistic, KernelClassifier]
each = pytest.mark.parametrize("cls", MACHINES, ids=lambda c: c.__name__)
classifiers = pytest.mark.parametrize("cls", MACHINES[2:], ids=lambda c: c.__name__)
regressors = pytest.mark.parametrize("cls", MACHINES[:2], ids=lambda c: c.__name__)


def targets(cls):
    return X[:, 0] > 0 if cls in MACHINES[2:] else X[:, 0]


# -- points ---------------------------------------------------------------------------------------


@each
@pytest.mark.parametrize(
    "value, words", [(np.nan, "Input X contains NaN"), (np.inf, "Input X contains infinity")]
)
def test_points_must_be_finite(cls, value, words):
    bad = X.copy()
    bad[4, 1] = value
    with pytest.raises(ValueError, match=words):
        cls().fit(bad, targets(cls))
    with pytest.raises(ValueError, match=words):
        cls().fit(X, targets(cls)).predict(bad)


@each
def test_empty(cls):
    with pytest.raises(ValueError, match=r"Found array with 0 sample\(s\)"):
        cls().fit(X[:0], [])
    with pytest.raises(ValueError, match=r"Found array with 0 feature\(s\)"):
        cls().fit(X[:, :0], targets(cls))
    with pytest.raises(ValueError, match=r"Found array with 0 sample\(s\)"):
        cls().fit(X, targets(cls)).predict(X[:0])
    with pytest.raises(ValueError, match=r"Found array with 0 sample\(s\): X is empty"):
        cls(FunctionKernel(max)).fit([], [])


@each
def test_lengths_must_match(cls):
    with pytest.raises(ValueError, match=r"inconsistent numbers of samples: \[20, 19\]"):
        cls().fit(X, targets(cls)[:-1])
    with pytest.raises(ValueError, match=r"inconsistent numbers of samples: \[3, 2\]"):
        cls(FunctionKernel(lambda a, b: 1.0)).fit(["a", "b", "c"], [0, 1])


@each
def test_strings_where_numbers_are_needed(cls):
    with pytest.raises(ValueError, match="could not convert string to float: 'red'"):
        cls().fit([["red"], ["green"], ["red"]], [0, 1, 0])
    with pytest.raises(ValueError, match=r"Gaussian\(\) compares vectors of numbers: .* a kernel on them"):
        cls(Gaussian()).fit(["red", "green", "red"], [0, 1, 0])
    with pytest.raises(ValueError, match="could not convert string to float: 'x'"):
        cls().fit(X, targets(cls)).predict([["x", "y", "z"]])


@each
def test_points_are_rows(cls):
    with pytest.raises(ValueError, match="Expected 2D array, got 1D array instead"):
        cls().fit(X[:, 0], targets(cls))
    with pytest.raises(ValueError, match="Found array with dim 3"):
        cls().fit(X[:, :, None], targets(cls))
    with pytest.raises(ValueError, match="Complex data not supported"):
        cls().fit(X + 1j, targets(cls))


@each
@pytest.mark.parametrize(
    "given", [None, "kernel", b"bytes", 3, (w for w in "abc")], ids=lambda v: type(v).__name__
)
def test_objects_come_in_sequences(cls, given):
    with pytest.raises(ValueError, match="X must be a list of points, got"):
        cls(FunctionKernel(lambda a, b: 1.0)).fit(given, [0, 1, 1])


@each
def test_unseen_shapes_at_predict(cls):
    fitted = cls().fit(X, targets(cls))
    for method in ("predict", "decision_function") if cls in MACHINES[2:] else ("predict",):
        with pytest.raises(
            ValueError, match=rf"X has 2 features, but {cls.__name__} is expecting 3 features"
        ):
            getattr(fitted, method)(X[:, :2])


@each
def test_not_fitted(cls):
    with pytest.raises(NotFittedError, match=f"This {cls.__name__} instance is not fitted yet"):
        cls().predict(X)


# -- targets --------------------------------------------------------------------------------------


@each
def test_no_targets(cls):
    with pytest.raises(ValueError, match=f"{cls.__name__} requires y to be passed, but the target y is None"):
        cls().fit(X, None)


@each
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_targets_must_be_finite(cls, value):
    y = targets(cls).astype(float)
    y[2] = value
    with pytest.raises(ValueError, match="(?i)y contains (NaN|infinity)"):
        cls().fit(X, y)


@classifiers
def test_one_class(cls):
    with pytest.raises(
        ValueError, match="y holds one class only, 'spam', and a classifier needs at least two"
    ):
        cls().fit(X, ["spam"] * 20)


@classifiers
def test_labels_not_measurements(cls):
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        cls().fit(X, X[:, 0])
    with pytest.raises(ValueError, match="should be a 1d array"):
        cls().fit(X, np.eye(20))


@regressors
def test_numbers_not_labels(cls):
    with pytest.raises(ValueError, match="y must hold real numbers.*for labels use a classifier such as"):
        cls().fit(X, ["spam"] * 20)
    with pytest.raises(ValueError, match="dim 3"):
        cls().fit(X, np.ones((20, 1, 1)))


def test_counts_are_not_negative():
    with pytest.raises(ValueError, match="Poisson needs targets y ≥ 0, but the smallest is -1"):
        KernelRegressor(loss="poisson", offset=False).fit(X, np.r_[-1.0, np.ones(19)])


# -- weights --------------------------------------------------------------------------------------


@each
@pytest.mark.parametrize(
    "weight, words",
    [
        (-np.ones(20), "sample_weight must be nonnegative"),
        (-1.0, "sample_weight must be nonnegative"),
        (np.zeros(20), "at least one non-zero|zero everywhere"),
        (np.full(20, np.nan), "sample_weight contains NaN"),
        (np.ones(19), r"sample_weight.shape == \(19,\), expected \(20,\)"),
        (np.ones((20, 2)), "1D"),
        ("balanced", "could not convert string"),
    ],
    ids=["negative", "negative number", "zero", "nan", "length", "table", "string"],
)
def test_weights(cls, weight, words):
    with pytest.raises(ValueError, match=words):
        cls().fit(X, targets(cls), sample_weight=weight)


# -- parameters -----------------------------------------------------------------------------------


@each
@pytest.mark.parametrize("lam", [-1e-3, np.nan, np.inf, "small", True, None, [1.0], 1j], ids=repr)
def test_lam_is_a_positive_number(cls, lam):
    with pytest.raises(
        ValueError, match="lam must be a positive number, got .*λ > 0 is what makes the solution unique"
    ):
        cls(lam=lam).fit(X, targets(cls))


@each
@pytest.mark.parametrize("lam", [1, np.float32(0.1), np.int64(2)], ids=repr)
def test_any_kind_of_number_will_do(cls, lam):
    assert cls(lam=lam).fit(X, targets(cls)).solution_.converged


@each
@pytest.mark.parametrize(
    "parameters, words",
    [
        ({"kernel": "gausian"}, "unknown kernel 'gausian', did you mean 'gaussian'"),
        ({"kernel": "xyz"}, "unknown kernel 'xyz'; known: .*'linear'"),
        ({"solver": "choleski"}, "unknown solver 'choleski', did you mean 'cholesky'"),
        ({"representation": "nistrom"}, "unknown representation 'nistrom', did you mean 'nystrom'"),
        ({"engine": "tilde"}, "unknown engine 'tilde', did you mean 'tiled'"),
        ({"kernel": Gaussian(-1.0)}, "Gaussian: sigma must be a positive number, got -1.0"),
        ({"kernel": Gaussian("wide")}, "Gaussian: sigma must be a positive number, got 'wide'"),
        ({"engine": Tiled(threads=0)}, "threads must be a positive integer or None, got 0"),
        ({"random_state": "seed"}, "random_state must be None, a whole number.*got 'seed'"),
    ],
    ids=str,
)
def test_unknown_names_and_bad_values(cls, parameters, words):
    with pytest.raises(ValueError, match=words):
        cls(**parameters).fit(X, targets(cls))


@each
@pytest.mark.parametrize(
    "parameters, words",
    [
        ({"kernel": Gaussian}, r"kernel must be an object: write Gaussian\(\), with the parentheses"),
        ({"solver": Cholesky}, r"solver must be an object: write Cholesky\(\)"),
        ({"representation": Full}, r"representation must be an object: write Full\(\)"),
        ({"engine": Tiled}, r"engine must be an object: write Tiled\(\)"),
        ({"kernel": None}, "kernel must be of type Kernel, or one of 'arc_cosine'.*got None"),
        ({"kernel": 3.0}, "kernel must be of type Kernel"),
        ({"solver": 3}, "solver must be of type Solver, or one of 'cg'"),
        ({"representation": None}, "representation must be of type Representation"),
        ({"engine": None}, "engine must be of type Engine"),
    ],
    ids=str,
)
def test_wrong_kinds_of_objects(cls, parameters, words):
    with pytest.raises(TypeError, match=words):
        cls(**parameters).fit(X, targets(cls))


def test_losses():
    with pytest.raises(ValueError, match="unknown loss 'hubert', did you mean 'huber'"):
        KernelRegressor(loss="hubert", offset=False).fit(X, X[:, 0])
    with pytest.raises(TypeError, match=r"loss must be an object: write Huber\(\)"):
        KernelRegressor(loss=Huber, offset=False).fit(X, X[:, 0])
    with pytest.raises(TypeError, match=r"loss must be an object: write Logistic\(\)"):
        KernelClassifier(loss=Logistic, offset=False).fit(X, X[:, 0] > 0)
    with pytest.raises(ValueError, match="Huber needs a positive number delta, got -1"):
        KernelRegressor(loss=Huber(-1), offset=False).fit(X, X[:, 0])


@each
def test_constructors_take_anything_and_fit_complains(cls):
    machine = cls(kernel="nonsense", lam="nonsense", solver="nonsense")
    repr(machine)
    machine.get_params()
    with pytest.raises(ValueError, match="nonsense"):
        machine.fit(X, targets(cls))


# -- kernels --------------------------------------------------------------------------------------


def test_negative_multiples_of_kernels():
    with pytest.raises(ValueError, match="-2·k is not a kernel: the factor must be nonnegative"):
        -2 * Gaussian()
    with pytest.raises(ValueError, match="-k is not a kernel"):
        -Gaussian()
    with pytest.raises(TypeError, match="a difference of kernels is not a kernel in general"):
        Gaussian() - Linear()


@each
def test_gram_matrices(cls):
    K, y = X @ X.T, targets(cls)
    with pytest.raises(
        ValueError, match=r"a precomputed Gram matrix at fit must be square .*got shape \(20, 3\)"
    ):
        cls("precomputed").fit(X, y)
    skew = K.copy()
    skew[3, 5] += 1
    with pytest.raises(ValueError, match=r"must be symmetric: entry \(3, 5\) is"):
        cls("precomputed").fit(skew, y)
    with pytest.raises(ValueError, match="Input X contains NaN"):
        cls("precomputed").fit(np.full((20, 20), np.nan), y)
    fitted = cls("precomputed", lam=1.0).fit(K, y)
    with pytest.raises(ValueError, match="X has 5 features, but .* is expecting 20 features"):
        fitted.predict(K[:, :5])


@each
def test_finite_domains(cls):
    y = [0, 1, 1]
    with pytest.raises(ValueError, match=r"Finite: the matrix must be square .*got shape \(2, 3\)"):
        cls(Finite(np.ones((2, 3)))).fit([0, 1, 1], y)
    with pytest.raises(ValueError, match="points of this finite domain are integers 0 … 1, got 0 … 2"):
        cls(Finite(np.eye(2))).fit([0, 1, 2], y)
    with pytest.raises(ValueError, match="points of a finite domain are integers"):
        cls(Finite(np.eye(2))).fit([0.5, 1, 0], y)
    with pytest.raises(ValueError, match="points of this finite domain are integers 0 … 1"):
        cls(Finite(np.eye(2) + 1), lam=0.1).fit([0, 1, 1], y).predict([5])


@each
def test_kernels_that_are_not_positive_definite(cls):
    """‖x−z‖² is no kernel: the door finds out or, where it is wanted even so, the factorisation."""

    def squared(x, z):
        return float(((x - z) ** 2).sum())

    with pytest.raises(ValueError, match=r"(?s)is no kernel: not positive semidefinite.*c1 = -1.*< 0"):
        cls(squared, lam=1e-6).fit(X, targets(cls))
    with (
        pytest.warns(UserWarning, match="not convex"),
        pytest.raises(NotPositiveDefinite, match=r"not positive (semi)?definite.*mercer\.kernels\.check"),
    ):
        cls(FunctionKernel(squared, indefinite=True), lam=1e-6).fit(X, targets(cls))


@each
@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("options", [{}, {"representation": "nystrom"}, {"solver": "descent"}], ids=str)
def test_kernels_that_are_not_finite(cls, value, options):
    with pytest.raises(ValueError, match=r"gives NaN or infinity for k\(x,x\)"):
        cls(FunctionKernel(lambda a, b: value), **options).fit(["a", "b", "c"], [0, 1, 1])


@each
def test_kernels_that_overflow(cls):
    with np.errstate(over="ignore"), pytest.raises(ValueError, match=r"gives NaN or infinity for k\(x,x\)"):
        cls(Polynomial(degree=200), representation="full").fit(1e3 * X, targets(cls))


def test_nan_away_from_the_diagonal():
    """Found late, by then as what it does to the factor; but found."""
    hole = FunctionKernel(lambda a, b: 1.0 if a == b else np.nan)
    for options in ({}, {"representation": "nystrom"}, {"solver": "cg"}):
        with pytest.raises((ValueError, NotPositiveDefinite), match="NaN|not positive definite"):
            KernelRidge(hole, **options).fit(["a", "b", "c"], [0.0, 1.0, 1.0])
