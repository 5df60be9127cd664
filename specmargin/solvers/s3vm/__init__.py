"""Searches for minima of semi-supervised SVMs, which end STATIONARY, and the supervised SVMs inside them.

Searches are `continuation`, `gradient`, `quasi_newton`, `label_switching`, `multi_switch`, `annealing` and `cccp`;
`polish` ends any of them at a stationary point. `finite_newton` and `weighted_svm` train the supervised SVMs. Call them
from `specmargin.solvers`. What proves a global optimum is in `specmargin.optima`.
"""
