"""Answers go to those who asked, whatever arrives when."""

import asyncio
import threading

import pytest

from mercer.tables.serve.answers import Batcher


def doubling(batches, gate=None):
    def answer(batch):
        if gate is not None:
            gate.wait(5)
        batches.append(len(batch))
        return [[2 * x for x in request] for request in batch]

    return answer


def test_what_arrives_meanwhile_is_answered_together():
    batches, gate = [], threading.Event()

    async def run():
        batcher = Batcher(doubling(batches, gate), rows=1000)
        first = asyncio.create_task(batcher.ask([0]))
        await asyncio.sleep(0.05)  # the worker is busy with it now
        others = [asyncio.create_task(batcher.ask([i, -i])) for i in range(1, 50)]
        await asyncio.sleep(0.05)
        gate.set()
        return await asyncio.gather(first, *others)

    answers = asyncio.run(run())
    assert answers == [[0]] + [[2 * i, -2 * i] for i in range(1, 50)]
    assert batches == [1, 49]


def test_a_batch_has_so_many_rows_and_no_more_but_at_least_one_request():
    batches = []

    async def run():
        batcher = Batcher(doubling(batches), rows=5)
        return await asyncio.gather(*(batcher.ask([i] * size) for i, size in enumerate([2, 2, 2, 9, 0, 5])))

    assert [len(answer) for answer in asyncio.run(run())] == [2, 2, 2, 9, 0, 5]
    assert batches == [2, 1, 1, 2]


def test_nobody_waits_for_those_who_gave_up():
    batches, gate = [], threading.Event()

    async def run():
        batcher = Batcher(doubling(batches, gate), rows=1000)
        first = asyncio.create_task(batcher.ask([0]))
        await asyncio.sleep(0.05)
        gone = [asyncio.create_task(batcher.ask([i])) for i in range(3)]
        stays = asyncio.create_task(batcher.ask([7]))
        await asyncio.sleep(0)
        for task in gone:
            task.cancel()
        await asyncio.sleep(0)
        gate.set()
        return await first, await stays

    assert asyncio.run(run()) == ([0], [14])
    assert batches == [1, 1]


def test_one_who_gave_up_during_the_prediction_is_passed_over():
    gate = threading.Event()

    async def run():
        batcher = Batcher(doubling([], gate), rows=1000)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await batcher.ask([1])
        gate.set()
        return await batcher.ask([2])

    assert asyncio.run(run()) == [4]


def test_errors_reach_those_they_concern():
    def answer(batch):
        if any(len(request) == 3 for request in batch):
            raise RuntimeError("all")
        return [ValueError("mine") if request == [1] else request for request in batch]

    async def run():
        batcher = Batcher(answer, rows=100)
        first = await asyncio.gather(*map(batcher.ask, ([0], [1], [2])), return_exceptions=True)
        second = await asyncio.gather(*map(batcher.ask, ([0], [1, 2, 3])), return_exceptions=True)
        return first, second, await batcher.ask([5])

    first, second, third = asyncio.run(run())
    assert first[0] == [0] and isinstance(first[1], ValueError) and first[2] == [2]
    assert [str(error) for error in second] == ["all", "all"]
    assert third == [5]  # and it goes on
