"""Solvers of semi-supervised SVMs: searches, which end STATIONARY, and the exact ones, which prove a global optimum.

Searches are `continuation`, `gradient`, `quasi_newton`, `label_switching`, `multi_switch`, `annealing`, `cccp` and
`one_flip`; `polish` ends any of them at a stationary point. `s3vm_bound` proves a lower bound, `branch_and_bound` the
optimum, `probe` labels that all optima share. `finite_newton` and `weighted_svm` train the supervised SVMs inside.
Call them from `specmargin.solvers`.
"""
