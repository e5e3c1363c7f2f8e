"""The door: names become objects."""

import inspect

import pytest
from sklearn.gaussian_process.kernels import RBF

from mercer import _resolve, engines, kernels, losses, representations, solvers
from mercer.kernels import ChiSquared, FunctionKernel, Gaussian, Polynomial
from mercer.representations import Features


@pytest.mark.parametrize(
    "name, cls",
    [
        ("gaussian", Gaussian),
        ("rbf", Gaussian),
        ("poly", Polynomial),
        ("polynomial", Polynomial),
        ("chi2", ChiSquared),
        ("rational_quadratic", kernels.RationalQuadratic),
        ("arc_cosine", kernels.ArcCosine),
        ("precomputed", kernels.Precomputed),
    ],
)
def test_kernel_names(name, cls):
    assert _resolve.kernel_of(name) == cls()


def test_objects_pass():
    k = Gaussian(3.0)
    assert _resolve.kernel_of(k) is k
    for resolve, value in (
        (_resolve.loss_of, losses.Huber(0.3)),
        (_resolve.representation_of, representations.Nystrom(n_centres=3)),
        (_resolve.solver_of, solvers.CG(tol=1e-3)),
        (_resolve.engine_of, engines.Tiled(threads=2)),
    ):
        assert resolve(value) is value


def test_functions_become_kernels():
    def k(x, z):
        return 1.0

    assert _resolve.kernel_of(k) == FunctionKernel(k)
    assert _resolve.kernel_of(len).function is len


@pytest.mark.parametrize(
    "name", ["squared", "squared_hinge", "epsilon_insensitive", "multinomial", "poisson"]
)
def test_loss_names(name):
    assert type(_resolve.loss_of(name)).__name__.lower() == name.replace("_", "")


def test_losses_by_their_names_in_scikit_learn():
    ours = [losses.Logistic(), losses.Squared(), losses.Absolute(), losses.Quantile()]
    assert [_resolve.loss_of(n) for n in ("log_loss", "squared_error", "absolute_error", "pinball")] == ours


def test_kernels_of_scikit_learn_are_no_functions_of_ours():
    with pytest.raises(TypeError, match=r"RBF\(length_scale=2\) is a kernel of scikit-learn's.*is Gaussian"):
        _resolve.kernel_of(RBF(2.0))


@pytest.mark.parametrize("name", ["full", "nystrom", "features", "lasso"])
def test_representation_names(name):
    assert _resolve.representation_of(name).name == name


@pytest.mark.parametrize("name", ["cholesky", "cg", "newton", "descent", "coordinate"])
def test_solver_names(name):
    assert _resolve.solver_of(name).name == name


def test_auto():
    assert _resolve.representation_of("auto") is None and _resolve.solver_of("auto") is None
    assert _resolve.engine_of("auto") == engines.Tiled() == _resolve.engine_of("tiled")


@pytest.mark.parametrize(
    "room, kind, resolve",
    [
        (losses, losses.Loss, _resolve.loss_of),
        (solvers, solvers.Solver, _resolve.solver_of),
        (representations, representations.Representation, _resolve.representation_of),
        (engines, engines.Engine, _resolve.engine_of),
    ],
    ids=["losses", "solvers", "representations", "engines"],
)
def test_everything_exported_has_a_name(room, kind, resolve):
    """A new class with one export line can be asked for by name."""
    for name in room.__all__:
        cls = getattr(room, name)
        if not inspect.isclass(cls) or not issubclass(cls, kind) or cls in (kind, losses.FunctionLoss):
            continue  # FunctionLoss needs a function: what has no name is given as it is
        label = getattr(cls, "name", None) or "".join(
            "_" + c.lower() if c.isupper() else c for c in name
        ).lstrip("_")
        assert type(resolve(label)) is cls


def test_every_kernel_without_arguments_has_a_name():
    for name in ("Linear", "Matern", "Laplacian", "Periodic", "Cosine", "Sigmoid", "HistogramIntersection"):
        label = "".join("_" + c.lower() if c.isupper() else c for c in name).lstrip("_")
        assert type(_resolve.kernel_of(label)) is getattr(kernels, name)


@pytest.mark.parametrize(
    "resolve, value, words",
    [
        (_resolve.kernel_of, "Gaussian", "unknown kernel 'Gaussian', did you mean 'gaussian'"),
        (_resolve.kernel_of, "", "unknown kernel ''; known: "),
        (_resolve.loss_of, "hinges", "unknown loss 'hinges', did you mean 'hinge'"),
        (_resolve.solver_of, "newtn", "unknown solver 'newtn', did you mean 'newton'"),
        (_resolve.representation_of, "feature", "unknown representation 'feature', did you mean 'features'"),
        (_resolve.engine_of, "gpu", "unknown engine 'gpu'; known: 'auto', 'cuda', 'dask', 'numpy', 'tiled'"),
        (_resolve.representation_of, Features("rff"), "map must be a feature map"),
    ],
    ids=lambda v: getattr(v, "__name__", None) or str(v),
)
def test_unknown(resolve, value, words):
    with pytest.raises(ValueError, match=words):
        resolve(value)


@pytest.mark.parametrize(
    "resolve, cls",
    [
        (_resolve.kernel_of, Gaussian),
        (_resolve.loss_of, losses.Huber),
        (_resolve.solver_of, solvers.CG),
        (_resolve.representation_of, representations.Full),
        (_resolve.engine_of, engines.Tiled),
    ],
)
def test_classes_are_not_objects(resolve, cls):
    with pytest.raises(
        TypeError, match=rf"must be an object: write {cls.__name__}\(\), with the parentheses"
    ):
        resolve(cls)


@pytest.mark.parametrize(
    "resolve", [_resolve.loss_of, _resolve.solver_of, _resolve.representation_of, _resolve.engine_of]
)
@pytest.mark.parametrize("value", [None, 3, Gaussian(1.0), ["cg"]], ids=repr)
def test_other_things(resolve, value):
    with pytest.raises(TypeError, match="must be of type"):
        resolve(value)
