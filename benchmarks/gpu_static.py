"""What the GPU's kernels cost by their machine code, without a GPU: instructions a pair and their bound.

    PYTHONPATH=src python -m benchmarks.gpu_static
    PYTHONPATH=src python -m benchmarks.gpu_static --kernels gaussian matern --columns 1 8 --widths 3 28

Every kernel is compiled for an H200 (sm_90) by Triton and the ptxas it brings, disassembled, and the
instructions of its innermost loop counted. The bound is what the busiest unit of a multiprocessor would
allow at full clock if nothing else ever waited. **It is a bound, not a measurement**: latencies, barriers and
memory come on top.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import tempfile
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

# An H200: multiprocessors, clock, and what a multiprocessor does in a clock. 989 Tflop/s in half precision at
# 1.83 GHz are 2048 multiply-adds; products started warp by warp (HMMA) reach about half of that.
PROCESSORS, CLOCK = 132, 1.98e9
ISSUED, SPECIAL, GROUP_PRODUCTS, WARP_PRODUCTS = 128, 16, 2048, 1024

_LINE = re.compile(
    r"^\s*(?:/\*(?P<at>[0-9a-f]+)\*/)\s+(?:@!?U?P\w+\s+)?(?P<what>[A-Z][\w.]*)(?P<rest>[^;]*);"
)
_LABEL = re.compile(r"^(\.L_x_\d+):")
_SHAPES = {"HMMA.16816": 16 * 8 * 16, "HMMA.1688": 16 * 8 * 8, "HMMA.1684": 16 * 8 * 4}


@dataclass
class Counts:
    """A kernel's resources and what its inner loop does for a pair."""

    registers: int
    spills: int
    shared: int
    issued: float
    special: float
    products: float
    grouped: bool
    kinds: dict[str, float]

    def clocks(self) -> dict[str, float]:
        """Clocks of a multiprocessor a pair, by unit."""
        products = GROUP_PRODUCTS if self.grouped else WARP_PRODUCTS
        return {
            "issue": self.issued / ISSUED,
            "special": self.special / SPECIAL,
            "matrix": self.products / products,
        }

    @property
    def bound(self) -> float:
        """Pairs a second at most."""
        return PROCESSORS * CLOCK / max(self.clocks().values())

    @property
    def limit(self) -> str:
        clocks = self.clocks()
        return max(clocks, key=clocks.__getitem__)


def cubin(code: Any, operands: dict[str, Any], blocks: tuple[int, int, int, int]) -> tuple[bytes, Any]:
    """Machine code for sm_90 of a kernel with these block sizes."""
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    from mercer.codegen.triton import source

    rows, columns, warps, stages = blocks
    names = source.arguments(code)
    signature = {name: _type(name, code, operands) for name in names} | {"BM": "constexpr", "BN": "constexpr"}
    # As at a launch: pointers are aligned, padded sizes are multiples of 16.
    aligned = [k for k, name in enumerate(names) if signature[name][0] == "*" or name not in ("n", "ldo")]
    made = triton.compile(
        ASTSource(
            source.compiled(code),
            signature,
            {"BM": rows, "BN": columns},
            {(k,): [["tt.divisibility", 16]] for k in aligned},
        ),
        target=GPUTarget("cuda", 90, 32),
        options={"num_warps": warps, "num_stages": stages},
    )
    return made.asm["cubin"], made.metadata


def _type(name: str, code: Any, operands: dict[str, Any]) -> str:
    short = {"float32": "*fp32", "float64": "*fp64", "float16": "*fp16"}
    if name in operands:
        return short[str(operands[name].dtype).removeprefix("torch.")]
    if name == "V" and code.halves:
        return "*fp16"
    if name == "N":
        return "*fp16" if code.dtype == "float32" else "*fp64"
    return short[code.dtype] if name in ("O", "V") else "i32"


def _tool(name: str) -> str:
    import triton

    return str(Path(triton.__file__).parent / "backends" / "nvidia" / "bin" / name)


def listing(binary: bytes) -> tuple[str, int, int]:
    """Disassembly, registers a thread, bytes spilled."""
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(binary)
        file.flush()
        text = subprocess.run(
            [_tool("nvdisasm"), "-c", file.name], capture_output=True, text=True, check=True
        )
        used = subprocess.run(
            [_tool("cuobjdump"), "-res-usage", file.name], capture_output=True, text=True, check=True
        )
    usage = used.stdout + used.stderr
    registers, stack = (int(re.search(rf"{k}:(\d+)", usage)[1]) for k in ("REG", "STACK"))
    return text.stdout, registers, stack


def inner_loop(text: str) -> list[str]:
    """Instructions of the loop over blocks of columns, without repairs of close pairs, which are rare."""
    labels: dict[str, int] = {}
    lines: list[str] = []
    jumps: list[tuple[int, str]] = []
    for line in text.splitlines():
        if label := _LABEL.match(line):
            labels[label[1]] = len(lines)
        elif part := _LINE.match(line):
            target = re.search(r"\.L_x_\d+", part["rest"])
            if part["what"].startswith("BRA") and target:
                jumps.append((len(lines), target[0]))
            lines.append(part["what"])
    spans = [(labels[to], at + 1) for at, to in jumps if labels[to] <= at]
    if not spans:
        raise ValueError("no loop found")

    def special(span: tuple[int, int]) -> int:
        return sum(what.startswith("MUFU") for what in lines[slice(*span)])

    first, last = max(spans, key=lambda s: (special(s), s[0] - s[1]))
    skipped: set[int] = set()
    for a, b in spans:
        if first < a and b < last:  # a loop inside: what the shortest jump over it leaves out
            over = [(at + 1, labels[to]) for at, to in jumps if first <= at < a and b <= labels[to] < last]
            skipped |= set(range(*min(over, key=lambda s: s[1] - s[0]))) if over else set(range(a, b))
    return [lines[k] for k in range(first, last) if k not in skipped]


def fused(what: str) -> int:
    """Multiply-adds of one instruction of the matrix units (a warp's, or a group of four warps')."""
    if group := re.match(r"HGMMA\.(\d+)x(\d+)x(\d+)", what):
        return int(group[1]) * int(group[2]) * int(group[3]) // 4
    return next((size for name, size in _SHAPES.items() if what.startswith(name)), 0)


def count(code: Any, operands: dict[str, Any], blocks: tuple[int, int, int, int]) -> Counts:
    """Compile, disassemble, count."""
    binary, metadata = cubin(code, operands, blocks)
    text, registers, spills = listing(binary)
    rows, columns, warps, _ = blocks
    body = inner_loop(text)
    products = sum(fused(what) for what in body)
    turns = max(round(products * warps / _expected(code, rows, columns)), 1)
    per_pair = 32 * warps / (rows * columns * turns)
    total = {k: v * per_pair for k, v in Counter(map(_kind, body)).items()}
    return Counts(
        registers,
        spills,
        metadata.shared,
        sum(total.values()),
        sum(v for k, v in total.items() if k.startswith("MUFU")),
        products * warps / (rows * columns * turns),
        any(what.startswith("HGMMA") for what in body),
        total,
    )


def _expected(code: Any, rows: int, columns: int) -> int:
    """Multiply-adds of a block on the matrix units, as the source asks for them."""
    depth = sum(leaf.depth if leaf.kind == "dot" else 16 for leaf in code.leaves)
    return rows * columns * (depth + code.second)


def _kind(what: str) -> str:
    parts = what.split(".")
    return ".".join(parts[:2]) if parts[0] in ("MUFU", "HMMA", "F2FP") else parts[0]


def kernels(d: int) -> dict[str, Any]:
    from mercer.kernels import Gaussian, Laplacian, Matern

    width = d**0.5
    return {"gaussian": Gaussian(width), "matern": Matern(1.5, sigma=width), "laplacian": Laplacian(width)}


def codes(kernel: Any, d: int, columns: int) -> tuple[Any, dict[str, Any]]:
    """The code of a product as it would be launched, and its operands, for standard normal points."""
    import numpy as np
    import torch

    from mercer.engines._triton import launch
    from mercer.engines._triton.pairs import DevicePairs
    from mercer.engines._triton.store import STORE
    from mercer.kernels.formula import trace

    rng = np.random.default_rng(0)
    points = [rng.standard_normal((600, d)).astype(np.float32) for _ in range(2)]
    X, Z = (STORE.get(P, "cpu", torch.float32, 1 << 30) for P in points)
    pairs = DevicePairs(trace(kernel), X, Z, Z, "float32", True)
    packed = pairs.packed(False)
    code = replace(packed.code, columns=columns)
    if columns > 2 and (halved := pairs.halved()) is not None:
        packed = halved
        code = replace(halved.code, columns=2 * max(8, 1 << (columns - 1).bit_length()))
    return launch.finished(code), packed.operands


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.gpu_static", description=__doc__.split("\n")[0]
    )
    parser.add_argument("--kernels", nargs="+", default=["gaussian", "matern", "laplacian"])
    parser.add_argument("--columns", nargs="+", type=int, default=[1, 8])
    parser.add_argument("--widths", nargs="+", type=int, default=[3, 10, 28, 100])
    options = parser.parse_args()
    from mercer.engines._triton import launch

    print("Counted, not measured: lane instructions a pair, and the bound of the busiest unit.")
    print(f"{'kernel':>10} {'d':>4} {'t':>3}  {'blocks':<16} regs spill issued MUFU  MMA   bound (1e12/s) by")
    for d in options.widths:
        for name in options.kernels:
            for t in options.columns:
                code, operands = codes(kernels(d)[name], d, t)
                blocks = launch.shape(code)[0]
                c = count(code, operands, blocks)
                print(
                    f"{name:>10} {d:>4} {t:>3}  {blocks!s:<16} {c.registers:>4} {c.spills:>5} {c.issued:6.2f}"
                    f" {c.special:4.2f} {c.products:4.0f} {c.bound / 1e12:7.2f}          {c.limit}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
