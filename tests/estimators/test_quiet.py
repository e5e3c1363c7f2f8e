"""Defaults converge, to what a dense float64 solve gives; `python -m benchmarks.converge` tries hundreds."""

import pytest

import quiet


@pytest.mark.parametrize("seed", range(12))
def test_defaults_neither_warn_nor_stray_from_the_dense_solution(seed):
    found = quiet.check(quiet.draw(seed, largest=300))
    if found["condition"] is not None and found["condition"] > quiet.WELL_DEFINED:
        pytest.skip("no float64 solution is well defined")
    assert found["warned"] is None
    assert found["apart"] is None or found["apart"] <= found["allowed"]
