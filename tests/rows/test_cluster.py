"""Rows on a cluster of processes: the same sums as in one process, whoever computes them and whoever dies."""

import asyncio
import gc
import os
import signal
import threading
import time

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

from cluster_tasks import Deadly, Endless, Normal, Times, broken, counted, doubled, pid
from clusters import cluster_of
from mercer.rows import ArrayRows
from mercer.rows.base import watching
from mercer.rows.cluster import ClusterRows, jobs_of
from mercer.rows.watch import NoWorkersError, SchedulerLostError, found_client

RNG = np.random.default_rng(0)
X = RNG.standard_normal((4000, 3)).astype(np.float32)
y, w = RNG.standard_normal(4000), RNG.uniform(size=4000)
V = RNG.standard_normal(3).astype(np.float32)


@pytest.fixture(scope="module")
def client():
    with cluster_of(2) as client:
        yield client


def settled(client):
    """How many results the client wants, and what the scheduler knows, once nothing changes any more."""
    gc.collect()
    found = []
    while len(found) < 5 or len(set(found[-5:])) > 1:
        known = client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks))
        found.append((len(client.futures), known))
        time.sleep(0.02)
    return found[-1]


@pytest.fixture(params=["sent", "read", "dask"])
def placed(request, client, tmp_path):
    """A function that puts X, y and w on the cluster, in shards of 100 rows, in one of three ways."""

    def place(rows=100):
        if request.param == "sent":
            return ClusterRows(Unpicklable(X, y, w, rows), client=client)
        if request.param == "read":
            paths = [tmp_path / name for name in ("X.npy", "y.npy", "w.npy")]
            for path, array in zip(paths, (X, y, w), strict=True):
                np.save(path, array)
            return ClusterRows(ArrayRows(*paths, rows=rows), client=client)
        chunks = [da.from_array(array, chunks=(rows, *array.shape[1:])) for array in (X, y, w)]
        return ClusterRows(*chunks, client=client)

    return place


class Unpicklable(ArrayRows):
    """Rows that can not travel: their shards are sent."""

    def __reduce__(self):
        raise TypeError("these rows stay here")


def same(found, expected):
    return all(np.array_equal(a, b) for a, b in zip(found, expected, strict=True))


@pytest.mark.parametrize("rows", [57, 4000])
def test_the_same_sums_to_the_last_bit(client, placed, rows):
    local, there = ArrayRows(X, y, w, rows=rows), placed(rows)
    assert there.shape == (4000, 3) and there.dtype == np.float32 and there.sizes == local.sizes
    assert there.has_y and there.has_w
    for task, v in ((Times(), V), (Normal(X[:20]), RNG.standard_normal(20).astype(np.float32))):
        expected = local.total(task, v)
        assert all(same(there.total(task, v), expected) for _ in range(2))
    assert same(there.changed(doubled).total(Times(), V), local.changed(doubled).total(Times(), V))


def test_whatever_the_number_of_workers(tmp_path):
    """Three, then one; and in between a task kills its workers, which Dask is told not to forgive."""
    local, task, v = ArrayRows(X, y, w, rows=50), Normal(X[:20]), RNG.standard_normal(20).astype(np.float32)
    expected = local.total(task, v)
    with dask.config.set({"distributed.scheduler.allowed-failures": 0}), cluster_of(3) as client:
        there = ClusterRows(local, client=client)
        assert same(there.total(task, v), expected) and len(set(there._owners)) == 3
        for i in range(2):
            (tmp_path / str(i)).touch()
        [found] = there.total(Deadly(tmp_path, 1000), V)
        assert not list(tmp_path.iterdir())
        assert np.array_equal(found, local.total(Deadly(tmp_path), V)[0])
        client.retire_workers(list(client.nthreads())[1:])
        assert same(there.total(task, v), expected)


def test_how_far_a_pass_is(client):
    """Whoever watches is told of rows now and then, and once that all are done."""
    rows, heard = ClusterRows(ArrayRows(X, y, w, 100), client=client), []
    for work in (lambda: rows.total(Times(0.04), V), lambda: list(rows.each(Times(), V))):
        said = []
        with watching(lambda *told, said=said: said.append(told)):
            work()
        done = [some for some, _ in said]
        assert said[-1] == (4000, 4000) and done.count(4000) == 1 and done == sorted(done)
        assert {of for _, of in said} == {4000}
        heard.append(len(said))
    assert heard[0] > 1 and heard[1] == 40


def test_one_by_one_and_some_rows(placed):
    local, there = ArrayRows(X, y, w, rows=100), placed()
    found = list(there.each(Times(), V))
    assert len(found) == 40 and all(map(same, found, local.each(Times(), V)))
    index = RNG.permutation(4000)[:300]
    for a, b in ((there.take(index), local.take(index)), (there.shard(7), local.shard(7))):
        assert same((a.X, a.y, a.w), (b.X, b.y, b.w)) and a.first == b.first
    large = np.zeros((3, 20000), np.float32)
    assert all(map(same, there.each(Times(), large), local.each(Times(), large)))
    unfinished = there.each(Times(0.01), V)
    next(unfinished)
    unfinished.close()


def test_each_worker_takes_part_and_uses_one_core_a_thread(placed):
    there = placed()
    assert len({int(p) for (p,) in there.each(pid)}) == 2
    assert {int(cores[0]) for _, cores in there.each(counted)} == {1}
    assert there.total(counted)[0] == 4000


def test_nothing_is_left_behind(client, placed):
    there, task = placed(), Times()
    there.total(task, V)
    before = settled(client)
    for _ in range(5):
        there.total(task, V)
    large = np.zeros((3, 20000), np.float32)  # sent once, and added up on the workers
    for _ in range(2):
        assert same(there.total(task, large), ArrayRows(X, y, w, rows=100).total(task, large))
    assert settled(client) == before


def test_two_threads_of_the_client(client):
    there, tasks = ClusterRows(ArrayRows(X, y, w, rows=100), client=client), [Times(), Normal(X[:20])]
    vectors = [V, RNG.standard_normal(20).astype(np.float32)]
    found = {}

    def sums(i):
        found[i] = [there.total(tasks[i], vectors[i]) for _ in range(3)]

    threads = [threading.Thread(target=sums, args=(i,)) for i in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    local = ArrayRows(X, y, w, rows=100)
    for i in range(2):
        assert all(same(one, local.total(tasks[i], vectors[i])) for one in found[i])


# -- workers that die -------------------------------------------------------------------------------


def test_a_worker_is_killed_in_the_middle_of_a_pass(client, placed):
    there, task = placed(), Times(0.01)
    expected = ArrayRows(X, y, w, rows=100).total(Times(), V)
    there.total(Times(), V)
    victim = next(iter(client.run(os.getpid).values()))
    timer = threading.Timer(0.06, os.kill, (victim, signal.SIGKILL))
    timer.start()
    assert same(there.total(task, V), expected)
    timer.join()
    client.wait_for_workers(2, timeout=20)
    if there._origin.anywhere:  # who came later takes part
        assert len({int(p) for (p,) in there.each(pid)}) == 2


@pytest.mark.parametrize(
    ("how", "work"),
    [
        ("stuck", lambda rows: [rows.total(Times(), V)]),
        ("forgotten", lambda rows: list(rows.each(Times(), V))),
    ],
)
def test_a_worker_dies_when_its_result_is_fetched(client, monkeypatch, how, work):
    """It was computed, but never comes: Dask waits for it for ever, or says that it does not know it."""
    monkeypatch.setattr("mercer.rows.watch._GRACE", 0.1)
    monkeypatch.setattr("mercer.rows.watch._LOOK", 0.05)
    there, local = ClusterRows(Unpicklable(X, y, w, 100), client=client), ArrayRows(X, y, w, rows=100)

    def killing(futures, asynchronous):
        monkeypatch.setattr(client, "gather", fetch)
        while not all(future.done() for future in futures):
            time.sleep(0.01)
        os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)
        return asyncio.sleep(60) if how == "stuck" else fetch(futures, asynchronous=asynchronous)

    fetch = client.gather
    there.total(Times(), V)
    monkeypatch.setattr(client, "gather", killing)
    begun = time.monotonic()
    assert all(map(same, work(there), work(local)))
    assert time.monotonic() - begun < 10
    client.wait_for_workers(2, timeout=20)


def test_arrays_are_sent_to_a_worker_that_has_gone(client):
    """It was there a moment ago; who asks the scheduler to give it rows gets a KeyError from it."""
    there = ClusterRows(Unpicklable(X, y, w, 100), client=client)
    workers = {"tcp://127.0.0.1:1": 1}
    with pytest.raises(ConnectionError, match=r"the worker tcp://127\.0\.0\.1:1 has gone"):
        there._ready(workers)
    assert there.total(counted)[0] == 4000


def test_errors_of_a_task_come_out(client):
    there = ClusterRows(ArrayRows(X, rows=1000), client=client)
    for work in (there.total, lambda task: list(there.each(task))):
        with pytest.raises(ValueError, match="this task is wrong"):
            work(broken)


def test_files_that_workers_do_not_see(client, tmp_path):
    np.save(tmp_path / "X.npy", X)
    there = ClusterRows(ArrayRows(tmp_path / "X.npy"), client=client)
    (tmp_path / "X.npy").unlink()
    with pytest.raises(FileNotFoundError) as found:
        there.total(counted)
    assert "on a disk that all of them see" in found.value.__notes__[-1]


def test_work_that_is_given_up_ends(client, tmp_path):
    there = ClusterRows(ArrayRows(X, rows=100), client=client)

    def interrupt():
        while not list(tmp_path.glob("begun-*")):
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        there.total(Endless(tmp_path))
    thread.join()
    until = time.monotonic() + 5
    while len(list(tmp_path.glob("ended-*"))) < len(list(tmp_path.glob("begun-*"))):
        assert time.monotonic() < until, "a worker is still at it"
        time.sleep(0.01)
    assert there.total(counted)[0] == 4000


def test_no_worker_and_no_scheduler_is_left():
    with cluster_of(0) as client:
        begun = time.monotonic()
        with pytest.raises(NoWorkersError, match=r"no worker in the cluster for 0\.3 seconds: start some"):
            ClusterRows(X, client=client, patience=0.3)
        assert time.monotonic() - begun < 5
        client.cluster.scale(1)
        there = ClusterRows(X, client=client, patience=20)
        assert there.total(counted)[0] == 4000
        there._watch.patience = 0.3
        client.cluster.scale(0)
        with pytest.raises(NoWorkersError):
            for _ in range(1000):
                there.total(counted)
        client.cluster.close()
        with pytest.raises(SchedulerLostError, match="start it again, make a new client"):
            for _ in range(1000):
                there.total(counted)


# -- Dask's own collections -------------------------------------------------------------------------


def test_data_frames_with_empty_parts(client):
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(y=y, w=w, part=np.arange(4000) // 500)
    rows = dd.from_pandas(frame, npartitions=8)
    rows = rows[(rows.part != 2) & (rows.part != 7) & (rows.a > 0)].drop(columns="part")
    there = ClusterRows(rows, "y", "w", client=client)
    kept = frame[(frame.part != 2) & (frame.part != 7) & (frame.a > 0)]
    assert there.shape == (len(kept), 3) and len(there.sizes) == 6 and there.names == ["a", "b", "c"]
    seen = there.take(np.arange(len(kept)))
    assert same((seen.X, seen.y, seen.w), (kept[["a", "b", "c"]], kept.y, kept.w))
    assert np.array_equal(there.total(counted)[0], len(kept))
    assert there.fingerprint() == ClusterRows(rows, "y", "w", client=client).fingerprint()
    assert there.fingerprint() != ClusterRows(rows, "y", client=client).fingerprint()
    for target in (rows.y, kept.y.to_numpy()):
        other = ClusterRows(rows.drop(columns=["y", "w"]), target, client=client)
        assert np.array_equal(other.take([5, 1400]).y, kept.y.iloc[[5, 1400]])


def test_arrays_whose_sizes_are_not_known(client):
    some = X[:, 0] > 0
    points = da.from_array(X, chunks=(1000, 2))
    unknown = points[points[:, 0] > 0]
    local = ArrayRows(X[some], y[some])
    for target in (y[some], da.from_array(y, chunks=1000)[da.from_array(some, chunks=1000)]):
        there = ClusterRows(unknown, target, client=client)
        assert there.shape == local.shape
        assert np.array_equal(there.take([0, 1500]).y, local.take([0, 1500]).y)
    known = ClusterRows(points, da.from_array(y, chunks=777), client=client)
    assert known.sizes == (1000,) * 4 and np.array_equal(known.take([1500]).y, y[[1500]])


def test_what_does_not_fit_together(client):
    points, frame = da.from_array(X, chunks=(1000, 3)), dd.from_pandas(pd.DataFrame({"a": ["x", "y"]}), 1)
    for words, given in (
        ("X has 4,000 rows, y or the weights 3,000", (points, da.zeros(3000, chunks=100))),
        ("X has 4,000 rows, y 10", (points, np.zeros(10))),
        ("there is no column 'y': X is no data frame", (points, "y")),
        ("the data frame has no column 'y': it has 'a'", (frame, "y")),
        ("the column 'a' holds no numbers", (frame,)),
        ("X must have rows and columns", (points[:, 0],)),
        ("X must hold numbers", (points.astype(complex),)),
        ("there are no rows in any of the blocks", (points[points[:, 0] > 99],)),
        (
            "X has 4 blocks of rows, y or the weights 2",
            (points[points[:, 0] > 0], da.zeros(4000, chunks=2000)),
        ),
        ("a block of X has", (points[points[:, 0] > 0], da.zeros(4000, chunks=1000))),
    ):
        with pytest.raises(ValueError, match=words):
            ClusterRows(*given, client=client)


def test_clients():
    with pytest.raises(ValueError, match="there is no Dask client: begin with"):
        found_client()
    with pytest.raises(TypeError, match="client must be a distributed.Client, got str"):
        found_client("tcp://nowhere")


def test_jobs_are_of_one_worker_and_of_the_same_weight():
    owners = ["a"] * 10 + ["b"] * 20 + ["a"] * 10
    jobs = jobs_of([1] * 40, owners, 4)
    assert sorted(i for job in jobs for i in job) == list(range(40))
    assert [len(job) for job in jobs] == [10, 10, 10, 10]
    assert all(len({owners[i] for i in job}) == 1 for job in jobs)
    assert jobs_of([5], ["a"], 4) == [[0]]
