"""Solvers of `specmargin.objectives.LapSVM` and of `RegularizedClustering`: kernels and Laplacians of all samples.

`newton` and `pcg` minimise the primal (Melacci & Belkin), `factorized` solves on one factorisation for every loss that
is piecewise quadratic, `eigenmaps` is regularised spectral clustering. Call them from `specmargin.solvers`.
"""
