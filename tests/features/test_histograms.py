"""Feature maps of kernels on histograms, against scikit-learn's and the integrals they stand for."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy import stats
from sklearn.kernel_approximation import AdditiveChi2Sampler, SkewedChi2Sampler

import mercer
from mercer import KernelRidge
from mercer.features import AdditiveChiSquaredFeatures, SkewedChiSquaredFeatures
from mercer.kernels import AdditiveChiSquared, Gaussian, SkewedChiSquared
from mercer.onnx import to_onnx
from mercer.representations import Features


def histograms(n, d, seed=0):
    rng = np.random.default_rng(seed)
    return rng.random((n, d)) * (rng.random((n, d)) < 0.7)


H = histograms(20, 6)


@pytest.mark.parametrize("steps", [1, 2, 3])
def test_scikit_learn_has_the_same_features(steps):
    ours = AdditiveChiSquaredFeatures(steps=steps).fit_transform(H)
    np.testing.assert_allclose(ours, AdditiveChi2Sampler(sample_steps=steps).fit_transform(H), rtol=1e-12)
    S = sp.csr_array(H)
    sparse = AdditiveChiSquaredFeatures(steps=steps).fit_transform(S)
    assert sp.issparse(sparse) and sparse.nnz == S.nnz * (2 * steps - 1)
    np.testing.assert_allclose(sparse.toarray(), ours, rtol=1e-14)


def test_any_number_of_steps_converges():
    K = AdditiveChiSquared()(H + 0.01)
    errors = []
    for steps, interval in ((2, 0.5), (3, 0.4), (8, 0.25), (40, 0.1)):
        Phi = AdditiveChiSquaredFeatures(steps=steps, interval=interval).fit_transform(H + 0.01)
        errors.append(np.abs(Phi @ Phi.T - K).max())
    assert errors[0] > errors[1] > errors[2] > errors[3] and errors[3] < 1e-4


@pytest.mark.parametrize("steps, worst", [(1, 0.33), (2, 0.104), (3, 0.051)])
def test_the_errors_that_are_promised(steps, worst):
    x = np.geomspace(1, 16, 400)[:, None]
    phi = AdditiveChiSquaredFeatures(steps=steps).fit(x)
    off = phi.transform(x) @ phi.transform(x[:1]).T - AdditiveChiSquared()(x, x[:1])
    found = np.max(np.abs(off) / np.sqrt(x))
    assert 0.9 * worst < found <= worst


def test_names_and_shapes():
    phi = AdditiveChiSquaredFeatures().fit(H[:, :2])
    assert phi.get_feature_names_out().tolist() == [
        *("√x0", "√x1"),
        *("cos(0.5·log x0)", "cos(0.5·log x1)", "sin(0.5·log x0)", "sin(0.5·log x1)"),
    ]
    assert phi.transform(H[:3, :2].astype(np.float32)).dtype == np.float32
    assert phi.transform(np.zeros((1, 2))).tolist() == [[0.0] * 6]
    waves = SkewedChiSquaredFeatures(SkewedChiSquared(0.5), n_features=2, random_state=0).fit(H)
    assert waves.get_feature_names_out().tolist() == ["cos(ω0·log(x+0.5))", "sin(ω0·log(x+0.5))"]


@pytest.mark.parametrize("c", [0.05, 1.0])
def test_skewed_features_are_unbiased(c):
    k = SkewedChiSquared(c)
    p = 60_000
    Phi = SkewedChiSquaredFeatures(k, n_features=p, random_state=0).fit_transform(H)
    # A cosine has variance at most 1.
    np.testing.assert_allclose(Phi @ Phi.T, k(H), atol=5 * np.sqrt(2 / p))
    np.testing.assert_allclose((Phi**2).sum(axis=1), 1, rtol=1e-12)


def test_frequencies_are_scikit_learns():
    ours = SkewedChiSquaredFeatures(n_features=8000, random_state=0).fit(H[:, :2]).frequencies_
    theirs = SkewedChi2Sampler(n_components=4000, random_state=1).fit(H[:, :2]).random_weights_
    assert stats.ks_2samp(ours.ravel(), theirs.ravel()).pvalue > 0.01


@pytest.mark.parametrize("kernel", [AdditiveChiSquared(), SkewedChiSquared(0.3)], ids=repr)
def test_machines_find_the_map_of_their_kernel(kernel, tmp_path):
    y = np.sin(5 * H[:, 0])
    machine = KernelRidge(kernel, representation=Features(n_features=4000), lam=1e-3, random_state=0).fit(
        H, y
    )
    exact = KernelRidge(kernel, representation="full", lam=1e-3).fit(H, y)
    assert np.abs(machine.predict(H) - exact.predict(H)).mean() < 0.3 * np.abs(y - y.mean()).mean()
    file = tmp_path / "machine.mercer"
    mercer.save(machine, file)
    np.testing.assert_array_equal(mercer.load(file).predict(H), machine.predict(H))
    with pytest.raises(TypeError, match="the feature map .*ChiSquaredFeatures"):
        to_onnx(machine)


def test_refusals():
    with pytest.raises(ValueError, match="features of AdditiveChiSquared"):
        AdditiveChiSquaredFeatures(Gaussian(1.0)).fit(H)
    with pytest.raises(ValueError, match="features of SkewedChiSquared"):
        SkewedChiSquaredFeatures(Gaussian(1.0)).fit(H)
    with pytest.raises(ValueError, match="Negative values"):
        AdditiveChiSquaredFeatures().fit(H).transform(-H)
    with pytest.raises(ValueError, match="more than -0.5"):
        SkewedChiSquaredFeatures(SkewedChiSquared(0.5)).fit(H).transform(H - 0.6)
    with pytest.raises(ValueError, match="interval must be given"):
        AdditiveChiSquaredFeatures(steps=5).fit(H)
    for steps in (0, 1.5, None):
        with pytest.raises(ValueError, match="steps"):
            AdditiveChiSquaredFeatures(steps=steps).fit(H)
    for interval in (0, -1.0, np.inf, "a"):
        with pytest.raises(ValueError, match="interval must be a positive number"):
            AdditiveChiSquaredFeatures(interval=interval).fit(H)
