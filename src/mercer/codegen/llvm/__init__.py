"""LLVM: IR for vectors of numbers, turned into machine code for this processor."""
