"""Lines of progress that stay."""

import numpy as np
import pytest

import mercer
from mercer._notice import Notice, line_teller
from mercer.kernels import Gaussian, Linear
from mercer.representations import Lasso, Nystrom

X = np.random.default_rng(0).standard_normal((60, 2))
Y = X[:, 0] + 0.5 * np.sin(3 * X[:, 1])


def test_it_is_the_line_and_knows_how_long_all_takes():
    notice = Notice("reading takes long", 240.0)
    assert notice == "reading takes long" and isinstance(notice, str) and notice.seconds == 240.0
    assert Notice("so it is").seconds is None


@pytest.mark.parametrize(
    "machine, y, said",
    [
        (mercer.KernelRidge(), Y, "spectrum of the kernel matrix: 0 of 60 "),
        (mercer.KernelRidge(lam=1e-3, solver="cg"), Y, "conjugate gradients: iteration 1, "),
        (mercer.KernelLogistic(lam=1e-3), Y > 0, "newton: iteration 1, "),
        (mercer.KernelSVC(lam=1e-3), Y > 0, "dual: iteration 1, "),
        (mercer.KernelSVR(lam=1e-3, representation=Nystrom(20), solver="smoothing"), Y, "iteration 1, "),
        (
            mercer.KernelLogistic(Linear(), representation=Lasso(), lam=1e-2),
            Y > 0,
            "coordinate: iteration ",
        ),
        (mercer.KernelOneClass(), None, "dual: iteration 1, "),
        (mercer.KernelKMeans(Gaussian(1.0), n_clusters=3), None, "k-means: iteration 1, energy "),
        (mercer.KernelPerceptron(Linear()), Y > 0, "perceptron, pass 1: "),
        (mercer.OnlineKernelRegressor(passes=2), Y, "learning: 60 of 120 examples"),
        (mercer.NetworkKernelRegressor(), Y, "network: 1 of "),
    ],
    ids=lambda v: type(v).__name__ if hasattr(v, "fit") else "",
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_every_fit_that_takes_steps_says_so(machine, y, said):
    lines = []
    with mercer.progress(lines.append, every=0):
        machine.fit(X, y)
    assert any(said in line for line in lines), lines
    count = len(lines)
    machine.fit(X, y)  # nobody listens any more
    assert len(lines) == count


def test_eigenvectors_of_many_points():
    lines, points = [], np.random.default_rng(0).standard_normal((1100, 2))
    with mercer.progress(lines.append, every=0):
        mercer.KernelPCA(Gaussian(1.0), n_components=2).fit(points)
    assert lines[0].startswith("eigenvectors: iteration 1, residual ")


def test_lines_go_nowhere_if_nobody_listens():
    assert line_teller()("a line") is None


def test_a_search_says_what_it_tried():
    lines = []
    machine = mercer.KernelRidge(Gaussian(1.0), lam=1e-3)
    with mercer.progress(lines.append, every=0):
        mercer.selection.tune(machine, X, Y, trials=2)
    assert any(line.startswith("1 trial, best ") for line in lines), lines
