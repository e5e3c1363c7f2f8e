"""The parts of the GPU engine; torch and triton are imported inside functions only.

code      what a kernel is generated from, and the choices made for it
source    Triton source text from a traced formula
pack      points in the form the kernels read, and how accurate that form is
launch    block sizes, launches, columns
store     device copies of host arrays
blocks    formulas evaluated by torch, block by block
stream    data larger than the device, in chunks
dense     matrices on the device: Kᵀ w K, Cholesky
"""
