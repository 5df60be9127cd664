"""Figures of tables: of a comparison, and `DiagnosisDisplay`, which ``Diagnosis.plot`` draws."""

from specmargin.tables.plots.diagnosis import DiagnosisDisplay

__all__ = ["DiagnosisDisplay"]
