"""What every experiment runs on, whatever it computes.

Splits and protocols of tuning (`splits`, `protocol`, `evaluation`), resumable sweeps over cells (`records`, `sweep`,
`provenance`, `progress`, `processes`, `locking`, `artifacts`), published numbers (`published`) and significance
(`significance`).
"""
