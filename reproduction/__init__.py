"""Experiments: tasks, methods, protocols of tuning, resumable sweeps, published numbers, reports.

Describe the work as `engine.records.Cell` s, write a function that computes one (mostly a call of
`engine.evaluation.evaluate`), and give both to `engine.sweep.run_sweep`. `engine.protocol.select` chooses the
parameters afterwards, and `comparison.compare` puts the published numbers next to the result. A `run.Experiment` is all
of that under a name, and `run.run_experiment` makes its table; those of the papers are in `reproduction.papers`.
"""
