"""Verification of a certificate by arithmetic that shares nothing with the solvers."""
