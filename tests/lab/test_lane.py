"""One computation at a time, with its own warnings."""

import asyncio
import threading
import time
import warnings

import pytest

from mercer._threads import Stopped, stopping_point
from mercer.lab.lane import Abandoned, Lane


def test_warnings_stay_with_the_work_that_gave_them():
    def work(i):
        for _ in range(2):
            warnings.warn(f"about {i}", UserWarning, stacklevel=1)
            time.sleep(0.005)
        warnings.warn("of no interest", DeprecationWarning, stacklevel=1)
        return i

    async def several():
        lanes = Lane(), Lane()  # two applications share the filters of the process
        return await asyncio.gather(*(lanes[i % 2].run(lambda i=i: work(i)) for i in range(8)))

    before = list(warnings.filters)
    assert asyncio.run(several()) == [(i, [f"about {i}"]) for i in range(8)]
    assert list(warnings.filters) == before


def test_one_after_another_and_off_the_loop():
    running, most = [], []

    def work():
        running.append(1)
        most.append(len(running))
        time.sleep(0.01)
        running.pop()
        return threading.current_thread() is not threading.main_thread()

    async def several():
        lane, beats = Lane(), 0
        tasks = [asyncio.create_task(lane.run(work)) for _ in range(5)]
        while not all(task.done() for task in tasks):
            await asyncio.sleep(0.001)
            beats += 1
        return [task.result()[0] for task in tasks], beats

    found, beats = asyncio.run(several())
    assert found == [True] * 5 and max(most) == 1 and beats > 5


def test_errors_and_those_who_are_gone():
    async def gone():
        return True

    async def several():
        lane = Lane()
        with pytest.raises(ZeroDivisionError):
            await lane.run(lambda: 1 // 0)
        with pytest.raises(Abandoned):
            await lane.run(lambda: 1, gone)
        return await lane.run(lambda: 2)

    assert asyncio.run(several()) == (2, [])


def test_who_gives_up_waiting_does_not_let_two_run_at_once():
    free, order = threading.Event(), []

    def slow():
        free.wait(10)
        order.append("slow")

    async def several():
        lane = Lane()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await lane.run(slow)
        following = asyncio.create_task(lane.run(lambda: order.append("next")))
        await asyncio.sleep(0.05)
        assert order == []
        free.set()
        await following

    asyncio.run(several())
    assert order == ["slow", "next"]


def test_work_that_nobody_waits_for_ends_where_the_library_looks():
    ended = []

    def long():
        try:
            for _ in range(2000):
                stopping_point()
                time.sleep(0.005)
        except Stopped:
            ended.append("stopped")
            raise

    async def leaves_later():
        return time.monotonic() > start + 0.1

    async def several():
        lane = Lane()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await lane.run(long)
        with pytest.raises(Abandoned):
            await lane.run(long, leaves_later)
        return await lane.run(lambda: 2)

    start = time.monotonic()
    assert asyncio.run(several()) == (2, []) and ended == ["stopped"] * 2
    assert time.monotonic() - start < 5
