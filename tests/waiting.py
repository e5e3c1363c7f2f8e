"""Waiting for something that another thread or process does, and not for ever."""

import time


def wait_for(condition, looks: int = 3000, pause: float = 0.01) -> None:
    for _ in range(looks):
        if condition():
            return
        time.sleep(pause)
    raise AssertionError("what was waited for did not come")
