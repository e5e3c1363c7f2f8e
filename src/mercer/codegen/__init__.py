"""One formula, many uses: from what a user writes as arithmetic to code for whoever has to compute it.

A function of arrays is called with symbols, and what it does with them is noted as a programme: a list of
operations. Programmes become code for a target, and machine code is kept for the next run. Nothing here knows
a kernel or a loss by name.

symbols     what is handed to a formula in place of numbers
programme   what was noted: operations in order; the tracer that notes them
formula     functions of pairs of points: statistics, numbers of points, and the programme between them
rows        functions of a row of targets and a row of scores, as loops over the outputs
llvm        machine code: this processor, vectors of numbers, elementary functions; what was compiled before
subset      loops written in a small part of Python
triton      GPU kernels
onnx        graphs for other runtimes
cache       machine code on disk
"""
