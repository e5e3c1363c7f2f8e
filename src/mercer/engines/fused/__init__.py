"""Fused loops on the CPU: a traced formula compiled to vector code, no n×m array in or out of cache."""
