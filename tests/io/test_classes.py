"""Which classes files may name."""

import pkgutil
import subprocess
import sys

import mercer
from mercer.io import objects
from mercer.kernels import Gaussian
from mercer.losses.coding import LabelCoding


def test_classes_are_mercers_own():
    found = objects.classes()
    assert found["kernels.Gaussian"] is Gaussian and found["losses.LabelCoding"] is LabelCoding
    assert len(found) > 80
    assert all(cls.__module__.startswith("mercer.") for cls in found.values())
    assert all(objects.name_of(cls) == name for name, cls in found.items())


def test_names_are_unique_in_a_room():
    """Two classes of one name in a room could not be told apart in files."""
    seen = {}
    for room in pkgutil.iter_modules(mercer.__path__):
        if room.name.startswith("_") or room.name in objects._WITHOUT:
            continue
        for module in objects._modules(f"mercer.{room.name}"):
            for name, cls in vars(module).items():
                if getattr(cls, "__module__", None) == module.__name__ and objects.is_storable(cls):
                    assert seen.setdefault((room.name, cls.__name__), cls) is cls, name


def test_foreign_classes_have_no_name():
    for cls in (
        int,
        object,
        subprocess.Popen,
        type("Gaussian", (Gaussian,), {"__module__": "mercer.kernels.radial"}),
    ):
        assert objects.name_of(cls) is None


def test_looking_imports_no_optional_package():
    code = (
        "import sys; from mercer.io import objects; objects.classes();"
        "print(*[m for m in ('matplotlib', 'torch', 'typer', 'onnx', 'duckdb') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
