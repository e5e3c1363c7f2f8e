"""`mercer export`: the graph gives the model's numbers."""

import json

import numpy as np
import pytest

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
