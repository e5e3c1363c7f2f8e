"""What this processor can do, asked at run time; and turning IR into machine code."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

_CODEGEN = Path(__file__).parents[1]


@dataclass(frozen=True)
class Processor:
    """Vector width in bits, and the name and features of the processor."""

    bits: int
    avx512: bool
    cpu: str
    features: str

    def lanes(self, dtype: Any) -> int:
        return self.bits // (8 * np.dtype(dtype).itemsize)

    @property
    def registers(self) -> int:
        return 32 if self.avx512 or self.bits == 128 else 16


@lru_cache(maxsize=1)
def host() -> Processor:
    """This machine. Raises ImportError or OSError where LLVM can't work."""
    from llvmlite import binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    found = llvm.get_host_cpu_features()
    width = os.environ.get("MERCER_VECTOR_BITS")
    avx512 = bool(found.get("avx512f") and found.get("avx512dq") and found.get("avx512vl"))
    bits = 512 if avx512 else 256 if found.get("avx2") and found.get("fma") else 128
    if width in ("128", "256", "512") and int(width) < bits:
        # For tests: the code paths of a smaller processor.
        bits, avx512 = int(width), False
    return Processor(bits, avx512, llvm.get_host_cpu_name(), found.flatten())


@lru_cache(maxsize=8)
def sources(folder: Path) -> str:
    """A digest of the modules in a folder and those below."""
    files = sorted(folder.rglob("*.py"))
    return hashlib.sha256(b"".join(f.read_bytes() for f in files)).hexdigest()


def key_of(*parts: Any) -> str:
    """A name for code that depends on these things, this processor and this compiler."""
    import llvmlite

    text = repr((parts, host(), llvmlite.__version__, sources(_CODEGEN)))
    return hashlib.sha256(text.encode()).hexdigest()[:40]


def _machine() -> Any:
    from llvmlite import binding as llvm

    target = host()
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=target.cpu, features=target.features, opt=3
    )


def compile_ir(text: str) -> bytes:
    """Optimised machine code of a module."""
    from llvmlite import binding as llvm

    module = llvm.parse_assembly(text)
    module.verify()
    machine = _machine()
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=2))
    builder.getModulePassManager().run(module, builder)
    return machine.emit_object(module)


class Loaded:
    """Machine code in memory; `address(name)` of its functions. Lives as long as the object does."""

    def __init__(self, code: bytes):
        from llvmlite import binding as llvm

        host()
        self._engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _machine())
        self._engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        self._engine.finalize_object()

    def address(self, name: str) -> int:
        return self._engine.get_function_address(name)
