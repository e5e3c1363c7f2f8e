"""Sparse features of strings as a transformer."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import mercer
from mercer.features import CountedFeatures
from mercer.kernels import Gaussian, Spectrum

WORDS = ["banana", "bandana", "ananas", "cabana", "", "b"]


def test_inner_products_are_kernel_values():
    for k in (Spectrum(2), Spectrum(3, blended=True), Spectrum(1).normalize() + 2.0 * Spectrum(2)):
        Phi = CountedFeatures(k).fit_transform(WORDS)
        assert np.allclose((Phi @ Phi.T).toarray(), k(WORDS))


def test_new_strings_have_the_same_columns():
    map = CountedFeatures(Spectrum(2)).fit(WORDS[:2])
    new = map.transform(["xyz", "nab"])
    assert new.shape == (2, len(map.features_)) and new.nnz == 1  # of na; nothing else is known
    Phi = map.transform(WORDS[:2])
    assert np.array_equal((new @ Phi.T).toarray(), Spectrum(2)(["xyz", "nab"], WORDS[:2]))


def test_folded():
    """With fewer columns inner products change only where features share one, and that is said."""
    rng = np.random.default_rng(0)
    texts = ["".join(rng.choice(list("acgt"), 50)) for _ in range(30)]
    exact = CountedFeatures(Spectrum(4)).fit(texts)
    assert exact.collisions_ == 0.0
    folded = CountedFeatures(Spectrum(4), n_features=64).fit(texts)
    assert folded.transform(texts).shape == (30, 64)
    # Of N features in 64 columns hardly one is alone.
    assert folded.collisions_ > 0.9
    wide = CountedFeatures(Spectrum(4), n_features=1 << 30).fit(texts)
    assert wide.collisions_ < 0.01
    Phi = wide.transform(texts)
    assert Phi.shape == (30, 1 << 30)
    # Without the empty columns, whose bare number makes a product of matrices slow.
    used, columns = np.unique(Phi.indices, return_inverse=True)
    dense = sp.csr_array((Phi.data, columns, Phi.indptr), shape=(30, len(used))).toarray()
    assert np.allclose(dense @ dense.T, Spectrum(4)(texts))
    assert folded.get_feature_names_out(texts)[0].count("|") > 0


def test_names():
    map = CountedFeatures(Spectrum(2) + Spectrum(1)).fit(WORDS)
    names = map.get_feature_names_out(WORDS)
    assert sorted(names) == sorted(
        {w[i : i + n] for w in WORDS for n in (1, 2) for i in range(len(w) - n + 1)}
    )
    column = names.tolist().index("an")
    assert map.transform(["banana"]).toarray()[0, column] == 2


def test_in_a_pipeline_and_on_disk(tmp_path):
    y = [1, 1, 0, 0, 0, 1]
    pipe = make_pipeline(CountedFeatures(Spectrum(2)), LogisticRegression()).fit(WORDS, y)
    assert clone(pipe).fit(WORDS, y).predict(WORDS).tolist() == pipe.predict(WORDS).tolist()
    mercer.save(pipe[0], tmp_path / "map")
    again = mercer.load(tmp_path / "map")
    assert np.array_equal(again.transform(WORDS).toarray(), pipe[0].transform(WORDS).toarray())


def test_what_is_refused():
    with pytest.raises(TypeError, match="has no sparse features"):
        CountedFeatures(Gaussian(1.0)).fit(WORDS)
    with pytest.raises(ValueError, match="n_features must be a whole number"):
        CountedFeatures(Spectrum(2), n_features=0).fit(WORDS)


def test_all_at_once_in_parts_and_folded_are_the_same_matrix():
    """`fit_transform` makes features once, of some points at a time."""
    strings = np.array(["".join(s) for s in np.random.default_rng(0).choice(list("ACGT"), (600, 12))], object)
    strings[5] = ""
    for folds in (None, 50):
        at_once = CountedFeatures(Spectrum(3), folds).fit_transform(strings)
        apart = CountedFeatures(Spectrum(3), folds).fit(strings).transform(strings)
        assert abs(at_once - apart).max() == 0 and at_once.shape == apart.shape
        assert at_once.indices.dtype == apart.indices.dtype == np.int32
        assert at_once.has_canonical_format
    np.testing.assert_array_equal((CountedFeatures(Spectrum(3)).fit_transform(strings[:0])).shape, (0, 0))


@pytest.mark.parametrize(
    "wrong", [{"kernel_": Gaussian()}, {"n_features": -3}, {"n_features": 2.5}, {"kernel_": 3}]
)
def test_a_map_from_a_file_made_to_deceive_is_refused(wrong, tmp_path):
    map = CountedFeatures(Spectrum(2), n_features=7).fit(["banana"])
    for name, value in wrong.items():
        setattr(map, name, value)
    with pytest.raises((ValueError, TypeError)):
        mercer.save(map, tmp_path / "map.mercer")
        mercer.load(tmp_path / "map.mercer")
