"""A formula as a Triton kernel; triton is imported inside functions only.

code         what a kernel is generated from
source       the loop over blocks, as text
programme    … and the formula inside it
"""
