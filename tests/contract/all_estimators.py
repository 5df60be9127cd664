"""The names of all estimators, with which `specmargin` has them: those of its core, and those of its wings."""

from specmargin import estimators

__all__ = ["NAMES"]

NAMES = ["AutoSSL", *estimators.__all__]
