"""The parts of the GPU engine; torch and triton are imported inside functions only.

call         formula, points and memory of one call of the engine
pairs        K(X, Z) as an operator on the device
pack         points in the form the kernels read, and how accurate that form is
launch       block sizes, launches, columns
code         what a kernel is generated from
source       Triton source text: the loop over blocks
programme    … the formula inside it
exponential  … and 2^t
blocks       formulas evaluated by torch, block by block
store        device copies of host arrays
stream       data larger than the device, in chunks
dense        matrices on the device: Kᵀ w K, Cholesky
"""
