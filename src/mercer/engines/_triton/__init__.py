"""The parts of the GPU engine; torch and triton are imported inside functions only.

Its kernels come from `mercer.codegen.triton`.

call         formula, points and memory of one call of the engine
pairs        K(X, Z) as an operator on the device
pack         points in the form the kernels read, and how accurate that form is
launch       block sizes, launches, columns
blocks       formulas evaluated by torch, block by block
store        device copies of host arrays
stream       data larger than the device, in chunks
dense        matrices on the device: Kᵀ w K, Cholesky
trees        kernels by torch alone, with slopes in their parameters
left_out     leave-one-out of least squares with its slopes, for searches
"""
