"""Values of a kernel that were computed once."""

import numpy as np

from mercer import KernelRidge
from mercer.kernels import BagOfWords
from mercer.tables.model.tabulated import Tabulated


def test_a_machine_on_places_is_the_machine_on_points():
    texts = ["to be", "or not", "to be or not", "be", "so be it", "not so"]
    y = np.array([1.0, -1.0, 0.5, 1.5, 1.0, -0.5])
    kernel = BagOfWords().normalize()
    places, values = np.arange(6), Tabulated.of(kernel, texts)
    np.testing.assert_allclose(values(places, [1, 2]), kernel(texts, texts[1:3]))
    np.testing.assert_allclose(values.diag(places), kernel.diag(texts))
    assert values.rule() == kernel.rule()
    on_texts = KernelRidge(kernel, lam=0.1, representation="full").fit(texts[:4], y[:4]).predict(texts[4:])
    on_places = KernelRidge(values, lam=0.1, representation="full").fit(places[:4], y[:4]).predict(places[4:])
    np.testing.assert_allclose(on_places, on_texts, rtol=1e-9)
