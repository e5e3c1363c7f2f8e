"""Compiled code: made once, kept on disk, never taken on trust; and what happens where none can be made."""

import hashlib
import os
import stat
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy.sparse import csr_array

pytest.importorskip("llvmlite")

from mercer import KernelRidge
from mercer.codegen import cache as kept
from mercer.codegen.cache import cache_folder, store, stored
from mercer.codegen.llvm import code
from mercer.codegen.llvm import processor as target
from mercer.codegen.llvm.processor import compile_ir, host, key_of
from mercer.engines import Tiled
from mercer.kernels import FunctionKernel, Gaussian, Laplacian
from mercer.kernels.radial import Radial

X = np.random.default_rng(0).standard_normal((40, 3))
EXACT = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2) / 2)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty cache folder, and a process that has compiled nothing yet."""
    monkeypatch.setenv("MERCER_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(code, "_loaded", {})
    return tmp_path / "cache"


@pytest.fixture
def compilations(monkeypatch):
    """The modules compiled so far."""
    seen = []

    def counted(text):
        seen.append(text)
        return compile_ir(text)

    monkeypatch.setattr(target, "compile_ir", counted)
    return seen


def gram():
    return Tiled(threads=1, fused=True).operator(Gaussian(1.0), X).dense()


def python(script, **environment):
    """The output of a script in a process of its own."""
    run = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return run.stdout.strip()


# -- the folder ---------------------------------------------------------------------------------------------


def test_code_is_kept_in_the_folder_one_names(folder, compilations):
    assert np.abs(gram() - EXACT).max() < 1e-14
    files = sorted(folder.iterdir())
    assert len(files) == len(compilations) == 2  # the loops, and what lays out points
    assert all(f.suffix == ".code" for f in files)
    if os.name == "posix":
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert all(stat.S_IMODE(f.stat().st_mode) == 0o600 for f in files)


def test_code_is_compiled_once(folder, compilations, monkeypatch):
    for _ in range(3):
        gram()
    assert len(compilations) == 2
    monkeypatch.setattr(code, "_loaded", {})  # as in a new process
    assert np.abs(gram() - EXACT).max() < 1e-14
    assert len(compilations) == 2
    Tiled(threads=1, fused=True).operator(Gaussian(7.0), X).dense()  # another number, the same code
    assert len(compilations) == 2
    Tiled(threads=1, fused=True).operator(Laplacian(7.0), X).dense()
    assert len(compilations) == 3


SECOND = """
import numpy as np
import mercer.codegen.llvm.processor as target
def refuse(text):
    raise SystemExit("compiled again")
target.compile_ir = refuse
from mercer.engines import Tiled
from mercer.kernels import Gaussian
X = np.random.default_rng(0).standard_normal((40, 3))
print(Tiled(threads=1, fused=True).operator(Gaussian(1.0), X).dense().sum())
"""


def test_a_second_process_compiles_nothing(folder):
    gram()
    assert float(python(SECOND)) == pytest.approx(EXACT.sum(), rel=1e-12)
    empty = subprocess.run(
        [sys.executable, "-c", SECOND],
        capture_output=True,
        text=True,
        env={**os.environ, "MERCER_CACHE_DIR": str(folder / "other")},
        check=False,
    )
    assert "compiled again" in empty.stderr  # the script does notice


DAMAGE = {
    "empty": lambda data: b"",
    "cut short": lambda data: data[: len(data) // 2],
    "one byte less": lambda data: data[:-1],
    "one bit changed": lambda data: data[:-100] + bytes([data[-100] ^ 1]) + data[-99:],
    "another digest": lambda data: data[: len(kept._FORMAT)] + b"0" * 32 + data[len(kept._FORMAT) + 32 :],
    "something else": lambda data: b"#!/bin/sh\necho hello\n" * 100,
    "an older format": lambda data: b"mercer-code-0\n" + data[len(kept._FORMAT) :],
    "head alone": lambda data: data[: len(kept._FORMAT)],
}


@pytest.mark.parametrize("damage", DAMAGE, ids=str)
def test_a_damaged_file_is_made_anew(folder, compilations, monkeypatch, damage):
    gram()
    whole = {f: f.read_bytes() for f in folder.iterdir()}
    for f, data in whole.items():
        f.write_bytes(DAMAGE[damage](data))
    monkeypatch.setattr(code, "_loaded", {})
    assert np.abs(gram() - EXACT).max() < 1e-14
    assert len(compilations) == 4
    assert {f: f.read_bytes() for f in folder.iterdir()} == whole


posix = pytest.mark.skipif(not hasattr(os, "getuid"), reason="files have no owners here")


@posix
def test_files_of_other_people_are_not_run(folder, compilations, monkeypatch):
    gram()
    monkeypatch.setattr(code, "_loaded", {})
    me = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: me + 1)
    with pytest.warns(RuntimeWarning, match="chmod 700"):
        assert np.abs(gram() - EXACT).max() < 1e-14
    assert len(compilations) == 4


def _linked(folder, file, data):
    (folder.parent / "elsewhere").mkdir(exist_ok=True)
    aside = folder.parent / "elsewhere" / file.name
    file.rename(aside)
    file.symlink_to(aside)


ALTERED = {
    "link": _linked,
    "pipe": lambda folder, file, data: (file.unlink(), os.mkfifo(file)),
    "writable by others": lambda folder, file, data: file.chmod(0o666),
    "writable folder": lambda folder, file, data: folder.chmod(0o777),
    "writable by the group": lambda folder, file, data: folder.chmod(0o770),
    "device": lambda folder, file, data: (file.unlink(), file.symlink_to("/dev/zero")),
    "endless": lambda folder, file, data: os.truncate(file, 1 << 40),
}


@posix
@pytest.mark.parametrize("how", ALTERED)
@pytest.mark.filterwarnings("ignore:compiled code is not kept")
def test_what_others_may_have_put_there_is_not_run(folder, how):
    """Nor waited for, as a pipe without a writer would be. A new file takes its place where it may."""
    store("abc", b"code")
    assert stored("abc") == b"code"
    file = folder / "abc.code"
    ALTERED[how](folder, file, file.read_bytes())
    assert stored("abc") is None
    store("abc", b"other")
    assert stored("abc") == (None if "writable" in how and "others" not in how else b"other")
    folder.chmod(0o700)
    for left in folder.iterdir():
        assert left.is_file() and not left.is_symlink()
    assert not (folder.parent / "elsewhere").exists() or b"other" not in b"".join(
        f.read_bytes() for f in (folder.parent / "elsewhere").iterdir()
    )


@posix
def test_a_link_to_the_folder(folder, monkeypatch):
    """One's own may lead elsewhere; another's may not, even to a folder of one's own."""
    real = folder.parent / "real"
    real.mkdir(mode=0o700)
    folder.symlink_to(real)
    store("abc", b"code")
    assert stored("abc") == b"code" and (real / "abc.code").exists()
    look = os.lstat

    def foreign(path, **options):
        found = list(look(path, **options))
        found[4] += 1
        return os.stat_result(found)

    monkeypatch.setattr(os, "lstat", foreign)
    assert stored("abc") is None
    with pytest.warns(RuntimeWarning, match="chmod 700"):
        store("abc", b"other")
    monkeypatch.undo()
    assert (real / "abc.code").read_bytes().endswith(b"code")


def test_a_folder_in_place_of_a_file(folder, compilations, monkeypatch):
    gram()
    for f in list(folder.iterdir()):
        f.unlink()
        f.mkdir()
    monkeypatch.setattr(code, "_loaded", {})
    assert np.abs(gram() - EXACT).max() < 1e-14
    assert len(compilations) == 4


@pytest.mark.parametrize("place", ["/dev/null/cache", "/proc/nowhere"])
@pytest.mark.skipif(os.name != "posix", reason="such paths are Unix's")
def test_where_nothing_can_be_written(monkeypatch, compilations, place):
    monkeypatch.setenv("MERCER_CACHE_DIR", place)
    monkeypatch.setattr(code, "_loaded", {})
    assert np.abs(gram() - EXACT).max() < 1e-14
    assert np.abs(gram() - EXACT).max() < 1e-14
    assert len(compilations) == 2


def test_an_empty_name_keeps_nothing(monkeypatch, tmp_path, compilations):
    monkeypatch.setenv("MERCER_CACHE_DIR", "")
    for variable in ("HOME", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.setenv(variable, str(tmp_path))
    monkeypatch.setattr(code, "_loaded", {})
    monkeypatch.chdir(tmp_path)
    assert cache_folder() is None
    assert np.abs(gram() - EXACT).max() < 1e-14
    assert len(compilations) == 2 and not list(tmp_path.iterdir())


def test_by_default_the_users_cache_folder(monkeypatch, tmp_path):
    monkeypatch.delenv("MERCER_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path))
    monkeypatch.setattr(sys, "platform", "linux")
    assert cache_folder() == tmp_path / "mercer"
    monkeypatch.setattr(sys, "platform", "win32")
    assert cache_folder() == tmp_path / "mercer"
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "Library" / "Caches" / "mercer"

    def homeless():
        raise RuntimeError("no home")

    monkeypatch.setattr(kept.Path, "home", homeless)
    assert cache_folder() is None


def test_storing_is_all_or_nothing(folder, monkeypatch):
    """A file appears under its name when it is whole, and a failed attempt leaves none."""
    seen = []
    replace = os.replace

    def watched(source, destination, **folder_of):
        seen.append((os.path.getsize(folder / source), os.path.exists(folder / destination)))
        replace(source, destination, **folder_of)

    monkeypatch.setattr(os, "replace", watched)
    store("abc", b"code" * 1000)
    assert seen == [(len(kept._FORMAT) + 32 + 4000, False)]
    assert stored("abc") == b"code" * 1000
    assert [f.name for f in folder.iterdir()] == ["abc.code"]

    def full(source, destination, **_):
        raise OSError("no space left on device")

    monkeypatch.setattr(os, "replace", full)
    store("def", b"code")
    assert stored("def") is None
    assert [f.name for f in folder.iterdir()] == ["abc.code"]


def test_what_is_stored_is_what_was_given(folder):
    for data in (b"", b"x", os.urandom(10_000)):
        store("k", data)
        assert stored("k") == data
        raw = (folder / "k.code").read_bytes()
        assert hashlib.sha256(b"k" + data).digest() in raw
        # Under another name it is not taken for that other code.
        (folder / "other.code").write_bytes(raw)
        assert stored("other") is None
    assert stored("another") is None


def test_keys_name_everything_code_depends_on(monkeypatch):
    import llvmlite

    first = key_of("a", 1)
    assert first == key_of("a", 1) and len(first) == 40
    assert len({first, key_of("a", 2), key_of("b", 1), key_of(("a", 1))}) == 4
    monkeypatch.setattr(llvmlite, "__version__", "0.0")
    second = key_of("a", 1)
    monkeypatch.setattr(target, "sources", lambda folder: "another version of this package")
    third = key_of("a", 1)
    machine = host()
    monkeypatch.setattr(target, "host", lambda: target.Processor(128, False, machine.cpu, machine.features))
    assert len({first, second, third, key_of("a", 1)}) == 4


def test_keys_are_the_same_in_every_process():
    """Were they to depend on hashes of strings, nothing stored would be found."""
    script = (
        "import numpy as np; from mercer.kernels import Gaussian, Polynomial\n"
        "from mercer.codegen.llvm.processor import key_of; from mercer.engines.fused.layout import Layout\n"
        "from mercer.kernels.formula import trace\n"
        "X = np.ones((3, 7)); L = Layout(trace(Gaussian(1.0) * Polynomial(2)), X, X, np.float32)\n"
        "print(key_of(L.recipe('fill', 8, 1)))"
    )
    assert len({python(script, PYTHONHASHSEED=str(seed)) for seed in (1, 2)}) == 1


# -- threads ------------------------------------------------------------------------------------------------


def test_threads_that_need_the_same_code_compile_it_once(folder, monkeypatch):
    barrier, texts = threading.Barrier(4), []

    def slow(text):
        texts.append(text)
        return compile_ir(text)

    monkeypatch.setattr(target, "compile_ir", slow)

    def job(_):
        barrier.wait()
        return gram()

    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(job, range(4)))
    assert len(texts) == 2
    assert all(np.array_equal(r, results[0]) for r in results)


def test_processes_that_start_together_do_not_disturb_each_other(folder):
    script = SECOND.replace("target.compile_ir = refuse\n", "")
    environment = {**os.environ, "MERCER_CACHE_DIR": str(folder)}
    runs = [
        subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, env=environment)
        for _ in range(3)
    ]
    sums = {float(run.communicate()[0]) for run in runs}
    assert all(run.returncode == 0 for run in runs)
    assert len(sums) == 1 and sums.pop() == pytest.approx(EXACT.sum(), rel=1e-12)
    assert sorted(f.suffix for f in folder.iterdir()) == [".code", ".code"]


# -- when nothing is compiled -------------------------------------------------------------------------------


@pytest.fixture
def no_compiler(monkeypatch):
    def refuse(*args):
        raise AssertionError("nothing should be compiled or loaded here")

    monkeypatch.setattr(target, "compile_ir", refuse)
    monkeypatch.setattr(kept, "stored", refuse)
    monkeypatch.setattr(code, "_loaded", {})


def test_small_problems_compile_nothing(no_compiler):
    engine = Tiled()
    assert np.allclose(engine.operator(Gaussian(1.0), X).dense(), EXACT)
    assert np.allclose(engine.operator(Gaussian(1.0), X).product(X), EXACT @ X)
    assert np.allclose(engine.operator(Gaussian(1.0), X).normal(X), EXACT @ EXACT @ X)
    KernelRidge(kernel=Gaussian(1.0), lam=0.1, offset=False).fit(X, X[:, 0]).predict(X)


def test_large_ones_do(monkeypatch):
    class Called(Exception):
        pass

    def called(*args):
        raise Called

    monkeypatch.setattr("mercer.engines.fused.run.loops", called)
    large = np.zeros((1500, 2))
    with pytest.raises(Called):
        Tiled().operator(Gaussian(1.0), large).product(large)
    assert Tiled(fused=False).operator(Gaussian(1.0), large).product(large).shape == (1500, 2)
    assert Tiled().operator(Gaussian(1.0), large[:1000], large).product(large).shape == (1000, 2)


def test_importing_mercer_brings_no_compiler():
    script = "import sys, mercer, mercer.engines, mercer.kernels; print([m for m in {} if m in sys.modules])"
    assert python(script.format(("llvmlite", "torch", "triton", "numba", "matplotlib"))) == "[]"
    small = "import numpy as np; from mercer import KernelRidge; KernelRidge().fit(np.eye(5), np.ones(5)); "
    found = python(small + "import sys; print('torch' in sys.modules)")
    assert found == "False"


WITHOUT = """
import sys
sys.modules["llvmlite"] = None
import numpy as np
from mercer import KernelRidge
from mercer.engines import Tiled
from mercer.kernels import Gaussian
from mercer.testing import check_engine
X = np.random.default_rng(0).standard_normal((1500, 3))
for engine in (Tiled(), Tiled(fused=True)):
    found = engine.operator(Gaussian(1.0), X).product(X)
    assert np.allclose(found, Gaussian(1.0)(X) @ X)
check_engine(Tiled(threads=1, fused=True))
print(Tiled().operator(Gaussian(1.0), X).remark(10**9))
machine = KernelRidge(kernel=Gaussian(1.0), engine=Tiled(fused=True))
print(machine.fit(X[:300], X[:300, 0]).plan_)
"""


def test_without_llvmlite_numpy_does_it():
    out = python(WITHOUT)
    assert out.count("NumPy blocks, no compiled loop: LLVM does not work here") == 2
    assert "llvmlite" in out


def test_where_llvm_does_not_work_numpy_does_it(monkeypatch):
    """An LLVM that can be imported but knows nothing of this processor."""
    from mercer.engines import tiled

    def broken():
        raise OSError("no such target")

    tiled._require_compiler.cache_clear()
    monkeypatch.setattr(target, "host", broken)
    try:
        engine = Tiled(threads=1, fused=True)
        assert np.allclose(engine.operator(Gaussian(1.0), X).dense(), EXACT)
        assert "LLVM does not work here (OSError: no such target)" in engine.operator(
            Gaussian(1.0), X
        ).remark(9)
    finally:
        tiled._require_compiler.cache_clear()


# -- what can't be compiled ---------------------------------------------------------------------------------


class WithNumpy(Radial):
    """A profile that takes arrays alone."""

    def __init__(self):
        pass

    def profile(self, r2, xp):
        return np.exp(-0.5 * r2)


def similarity(a, b):
    return float(np.exp(-0.5 * ((a - b) ** 2).sum()))


@pytest.mark.parametrize(
    "k, points, reason",
    [
        (FunctionKernel(similarity), X, "FunctionKernel is no formula in vectors"),
        (WithNumpy(), X, "its formula does not take symbols"),
        (WithNumpy().on([0, 1, 2]), X, "its formula does not take symbols"),
    ],
    ids=["function", "numpy", "inside"],
)
def test_fallbacks_work_and_say_why(k, points, reason, no_compiler):
    engine = Tiled(threads=1, fused=True)
    V = np.random.default_rng(0).standard_normal((40, 2))
    assert engine.operator(k, points, points).loops() is None
    assert np.allclose(engine.operator(k, points).dense(), EXACT)
    assert np.allclose(engine.operator(k, points).product(V), EXACT @ V)
    assert np.allclose(engine.operator(k, points).normal(V), EXACT @ EXACT @ V)
    assert reason in engine.operator(k, points).remark(9)
    machine = KernelRidge(kernel=k, lam=0.1, engine=engine, offset=False).fit(points, X[:, 0])
    assert reason in str(machine.plan_)
    assert "no compiled loop" in str(machine.plan_)


def test_sparse_points_are_written_out_unless_they_are_many(monkeypatch):
    engine, points = Tiled(threads=1, fused=True), csr_array(X)
    V = np.random.default_rng(0).standard_normal((40, 2))
    loops = engine.operator(Gaussian(1.0), points, points).loops()
    assert loops is not None and loops.X is loops.Z
    assert np.allclose(engine.operator(Gaussian(1.0), points).product(V), EXACT @ V)
    monkeypatch.setattr("mercer.engines.tiled._FILLED_BYTES", 100)
    assert engine.operator(Gaussian(1.0), points, points).loops() is None
    assert np.allclose(engine.operator(Gaussian(1.0), points).product(V), EXACT @ V)
    machine = KernelRidge(kernel=Gaussian(1.0), lam=0.1, engine=engine, offset=False).fit(points, X[:, 0])
    assert "the points are sparse, and too many to be written out" in str(machine.plan_)


def test_what_is_compiled_says_so():
    assert Tiled().operator(Gaussian(1.0), X).remark(10**8) == "kernel products by a compiled loop"
    assert Tiled(fused=True).operator(Gaussian(1.0), X).remark(10) == "kernel products by a compiled loop"
    assert Tiled().operator(Gaussian(1.0), X).remark(10) is None  # nothing to remark on
    assert "it was told not to" in Tiled(fused=False).operator(Gaussian(1.0), X).remark(10)
    with pytest.raises(ValueError, match="fused must be True, False or None"):
        Tiled(fused="yes").operator(Gaussian(1.0), X).dense()


def test_a_map_that_gives_no_vectors_is_left_to_numpy():
    """Seen only with the points at hand."""

    def sparse(P):
        return csr_array(np.asarray(P, float))

    k = Gaussian(1.0).pullback(sparse)
    engine = Tiled(threads=1, fused=True)
    assert engine.operator(k, X, X).loops() is None
    assert np.allclose(engine.operator(k, X).dense(), EXACT)


# -- the machine --------------------------------------------------------------------------------------------


def test_the_processor_is_asked():
    found = host()
    assert found.bits in (128, 256, 512) and found.cpu
    assert found.lanes(np.float32) == 2 * found.lanes(np.float64) == found.bits // 32
    assert found.registers in (16, 32)


@pytest.mark.parametrize("asked, expected", [("128", 128), ("1024", None), ("wide", None), ("", None)])
def test_narrower_vectors_on_request(asked, expected):
    script = "from mercer.codegen.llvm.processor import host; print(host().bits, host().avx512)"
    bits, avx512 = python(script, MERCER_VECTOR_BITS=asked).split()
    assert int(bits) == (expected or host().bits)
    assert (avx512 == "True") == (host().avx512 and expected is None)


def test_wrong_code_is_not_compiled():
    with pytest.raises(RuntimeError):
        compile_ir("this is no LLVM IR")
