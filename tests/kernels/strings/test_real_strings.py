"""Real strings, where the data sets lie beside the checkout."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.svm import SVC

from mercer import KernelSVC
from mercer.kernels import BagOfWords, Mismatch, Spectrum, WeightedDegree

DATA = Path(__file__).resolve().parents[4] / "shared" / "data" / "text"

pytestmark = [
    pytest.mark.data,
    pytest.mark.skipif(not DATA.is_dir(), reason="the data sets are not beside this checkout"),
]


@pytest.mark.parametrize("kernel", [Spectrum(4), Mismatch(5, 1), WeightedDegree(4)], ids=repr)
def test_promoters(kernel):
    with np.load(DATA / "promoters.npz", allow_pickle=False) as file:
        X, y = file["seq"].astype(str), file["y"]
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    scores = cross_val_score(KernelSVC(kernel.normalize(), lam=1e-3), X, y, cv=folds)
    assert scores.mean() > 0.88  # half of them are promoters


def test_messages_have_the_vectors_of_scikit_learn():
    with np.load(DATA / "sms_spam.npz", allow_pickle=False) as file:
        text, off, y = file["text"].tobytes(), file["off"], file["y"][:600]
    X = [text[a:b].decode() for a, b in pairwise(off[:601])]
    kernel = BagOfWords(longest=2, tf="sublinear", idf=True).normalize()
    vectors = TfidfVectorizer(token_pattern=r"(?u)\w+", ngram_range=(1, 2), sublinear_tf=True).fit(X[:400])
    A = vectors.transform(X[:400])
    np.testing.assert_allclose(kernel.resolve(X[:400])(X[:400]), (A @ A.T).toarray(), atol=1e-12)
    machine = KernelSVC(kernel, lam=1e-3).fit(X[:400], y[:400])
    theirs = SVC(kernel="precomputed", C=1 / (2 * 400 * 1e-3)).fit((A @ A.T).toarray(), y[:400])
    scores = theirs.decision_function(machine.kernel_(X[400:], X[:400]))
    np.testing.assert_allclose(machine.decision_function(X[400:]), scores, atol=5e-3)
