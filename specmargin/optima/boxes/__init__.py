"""Exact searches by boxes: of decisions plus slacks with the squared hinge, of decisions with exp(-s f^2)."""
