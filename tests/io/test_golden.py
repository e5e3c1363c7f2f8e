"""Files written by earlier versions load, and predict what they predicted then."""

import json
from pathlib import Path

import numpy as np
import pytest

from mercer.io import load

FILES = sorted(Path(__file__).with_name("golden").glob("*.mercer"))


def test_there_are_files_of_every_format():
    assert {f.name.partition("-")[0] for f in FILES} == {"format1", "format2"}
    assert len(FILES) == 8 and all(f.stat().st_size < 30_000 for f in FILES)


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_golden(path):
    machine, then = load(path), json.loads(path.with_suffix(".json").read_text())
    assert repr(machine) == then["repr"]
    now = machine.predict(then["X"])
    if now.dtype.kind == "f":
        np.testing.assert_allclose(now, then["predict"], rtol=1e-9, atol=1e-12)
    else:
        assert now.tolist() == then["predict"]
    if "predict_proba" in then:
        np.testing.assert_allclose(
            machine.predict_proba(then["X"]), then["predict_proba"], rtol=1e-9, atol=1e-12
        )
    if "predict_interval" in then:
        np.testing.assert_allclose(
            machine.predict_interval(then["X"], 0.8), then["predict_interval"], rtol=1e-9, atol=1e-12
        )


def test_what_files_did_not_say_yet_is_not_known():
    """How dates were written, and which command made the model, came later."""
    model = load(next(f for f in FILES if f.stem == "format1-table"))
    assert {c.order for c in model.schema.columns} == {None}
    assert model.evidence.command is None and model.evidence.source is None
