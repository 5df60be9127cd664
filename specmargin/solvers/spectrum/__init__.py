"""Solvers over the eigenvectors of a graph Laplacian: the spectrum is learned, or given.

`spectrum_margin` is the interior point of STORM, STOAM and MKL, `relative_margin` that of RMM, `alternation` and
`spectrum_path` solve the former again for many C, `alignment` is KTA, `graph_transducer` SGT, `spectral_ridge` least
squares. Call them from `specmargin.solvers`.
"""
