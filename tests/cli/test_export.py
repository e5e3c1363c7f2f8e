"""`mercer export`: the graph gives the model's numbers."""

import json
from dataclasses import replace

import numpy as np
import pytest

import mercer
from mercer.kernels import Forest

onnxruntime = pytest.importorskip("onnxruntime")


def test_it_writes_a_graph_on_prepared_columns(call, fitted, table, tmp_path):
    file = tmp_path / "m.onnx"
    result = call("export", fitted.file, "--output", file)
    assert result.exit_code == 0 and "prepared columns: size, " in result.stdout, result.output
    session = onnxruntime.InferenceSession(file.read_bytes())
    (found,) = session.run(["prediction"], {"X": fitted.model.columns.transform(table)})
    np.testing.assert_allclose(np.ravel(found), fitted.model.predict(table), rtol=1e-6)


def test_json(call, sorted_out, tmp_path):
    file = tmp_path / "m.onnx"
    found = json.loads(call("export", sorted_out.file, "-o", file, "--json", "--float32").stdout)
    assert found["output"] == str(file) and "label" in found["outputs"]
    assert found["inputs"] == sorted_out.model.columns.get_feature_names_out().tolist()


def test_what_has_no_graph_is_said_in_a_line(call, fitted, monkeypatch, tmp_path):
    def refuse(*_, **__):
        raise TypeError("this kernel has no ONNX version")

    monkeypatch.setattr("mercer.onnx.to_onnx", refuse)
    result = call("export", fitted.file, "-o", tmp_path / "m.onnx")
    assert result.exit_code == 1 and result.stderr == "mercer: this kernel has no ONNX version\n"


def test_a_forest_has_no_graph_and_predicts_all_the_same(call, fitted, table, tmp_path):
    X, then = fitted.model.columns.transform(table), fitted.model.predict(table)
    kernel = 0.5 * fitted.model.machine.kernel_ + Forest.grow(X, then, trees=5)
    machine = mercer.KernelRidge(kernel, lam=1e-2).fit(X, then)
    mercer.save(replace(fitted.model, machine=machine), tmp_path / "m.mercer")
    result = call("export", tmp_path / "m.mercer", "-o", tmp_path / "m.onnx")
    assert result.exit_code == 1 and not (tmp_path / "m.onnx").exists()
    assert (
        result.stderr.startswith("mercer: a forest is a term of the kernel")
        and result.stderr.count("\n") == 1
    )
    again = mercer.load(tmp_path / "m.mercer")
    np.testing.assert_array_equal(again.predict(table), machine.predict(X))
