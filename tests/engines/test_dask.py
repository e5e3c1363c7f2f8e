"""The engine of a cluster: a value that holds a client, and what computes where."""

import copy
import pickle
import re
import sys

import dask.array as da
import dask.dataframe as dd
import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from cluster_tasks import cores_of_a_fit, engine_here, pages_of_a_product
from clusters import cluster_of
from mercer import KernelRidge
from mercer.engines import Dask, Tiled
from mercer.io import load, save
from mercer.kernels import Gaussian
from mercer.representations import Nystrom
from mercer.rows import ArrayRows
from mercer.solvers import Passes

RNG = np.random.default_rng(0)
X, y = RNG.standard_normal((200, 3)), RNG.standard_normal(200)


@pytest.fixture(scope="module")
def client():
    """One process, two threads: that is where oversubscription would begin."""
    with cluster_of(1, threads=2) as client:
        yield client


def test_a_value_that_holds_a_client(client, tmp_path):
    engine = Dask(client, patience=5)
    for same in (clone(engine), copy.copy(engine), copy.deepcopy(engine), engine.replace()):
        assert same == engine and same is not engine and same.client is client
    assert engine != Dask() and engine != Dask(client) and hash(engine) == hash(clone(engine))
    assert clone(KernelRidge(engine=engine)).engine.client is client
    assert clone(engine).set_params(patience=6).client is client
    assert pickle.loads(pickle.dumps(engine)) == Dask(patience=5)
    assert repr(Dask(engine=Tiled(threads=1))) == "Dask(engine=Tiled(threads=1))"
    assert repr(engine).startswith("Dask(client=<Client: ")
    model = KernelRidge(Gaussian(1.0), lam=0.1, engine=engine).fit(X, y)
    save(model, tmp_path / "model.mercer")
    loaded = load(tmp_path / "model.mercer")
    assert loaded.engine == Dask(patience=5)
    assert np.array_equal(loaded.predict(X), model.predict(X))
    assert np.allclose(model.predict(X), KernelRidge(Gaussian(1.0), lam=0.1).fit(X, y).predict(X))


@pytest.mark.parametrize(
    "engine, words",
    [
        (Dask(patience=-1), "patience must be a number of at least 0"),
        (Dask(address=7), "address must be a string"),
        (Dask(engine="tiled"), "engine must be another engine"),
        (Dask(engine=Dask()), "engine must be another engine"),
        (Dask(client="a client", address="tcp://x"), "a client or an address, not both"),
    ],
)
def test_what_it_refuses(engine, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        engine.operator(Gaussian(1.0), X)
    with pytest.raises(ValueError, match=re.escape(words)):
        engine.place(X)


def test_names_and_clients(client):
    with pytest.raises(ValueError, match="there is no Dask client"):
        Dask().place(X)
    with client.as_current():
        assert Dask().place(X).client is client
        # An array in memory is sent there, too.
        machine = KernelRidge(engine="dask", lam=1e-3, random_state=0).fit(X, y)
    assert machine.solution_.status == "converged" and machine.plan_.solver == Passes()
    rows = Dask(address=client.scheduler.address).place(ArrayRows(X, y))
    assert rows.client is not client and rows.shape == X.shape
    rows.client.close()


def test_what_computes_where(client):
    """Here the CPU; on a worker what it was told, whose operators know nothing of the cluster."""
    assert Dask(engine=Tiled(threads=2)).here() == Tiled()
    for told in (Tiled(threads=2), Tiled(fused=False)):
        engine = Dask(client, engine=told)
        assert client.submit(engine_here, engine).result() == (repr(told), repr(told))
    auto = client.submit(engine_here, Dask(client)).result()
    assert auto[0] == auto[1] and auto[0].startswith(("Tiled(", "Cuda("))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="a matter of glibc")
def test_a_worker_keeps_the_memory_of_tiles(client):
    """Dask has the C library give it back at once, so that every tile would be paged in anew."""
    tiles = RNG.standard_normal((1000, 3))  # 2 MB each, which are 512 pages
    assert client.submit(pages_of_a_product, tiles).result() < 100


def test_a_fit_on_the_cluster_is_that_of_one_process(client):
    points, targets = X.astype(np.float32), np.sin(X[:, 0])
    machine = KernelRidge(Gaussian(1.0), lam=1e-3, representation=Nystrom(20), random_state=0)
    alone = clone(machine).set_params(engine=Tiled(threads=1)).fit(ArrayRows(points, targets, rows=50))
    frame = pd.DataFrame(points, columns=["a", "b", "c"]).assign(y=targets)
    named, expected = frame[["a", "b", "c"]], alone.predict(points)
    for asked, given in (
        (points, (ArrayRows(points, targets, rows=50),)),
        (points, (da.from_array(points, chunks=(50, 3)), da.from_array(targets, chunks=50))),
        (named, (dd.from_pandas(frame, npartitions=4), "y")),
    ):
        there = clone(machine).set_params(engine=Dask(client)).fit(*given)
        assert np.array_equal(there.predict(asked), expected) and there.plan_.engine == Dask(client)
    with client.as_current():  # Dask's collections need no engine: they are where they are
        there = clone(machine).fit(*given)
        assert np.array_equal(there.predict(named), expected)
        assert np.array_equal(there.predict(dd.from_pandas(named, npartitions=2)), expected)
        # Without an engine, too, a plan says where the rows are computed with.
        assert clone(machine).plan(*given).engine == there.plan_.engine == Dask(engine=Tiled())


def test_a_search_over_the_cluster_uses_each_core_once(client):
    """Each thread of a worker runs a fit of its own, on one thread; what is found is the same."""
    grid = {"lam": [1e-3, 1e-1], "kernel": [Gaussian(0.5), Gaussian(2.0)]}
    alone = GridSearchCV(KernelRidge(), grid, cv=2).fit(X, y)
    with client.as_current(), joblib.parallel_config("dask", client=client):
        found = GridSearchCV(KernelRidge(), grid, cv=2, n_jobs=2).fit(X, y)
        cores = joblib.Parallel(n_jobs=2)(joblib.delayed(cores_of_a_fit)(X, y) for _ in range(4))
    assert cores == [1] * 4
    assert found.best_params_ == alone.best_params_
    np.testing.assert_allclose(found.cv_results_["mean_test_score"], alone.cv_results_["mean_test_score"])
