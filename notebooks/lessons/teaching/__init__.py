"""Lessons: what a reader guessed, and whether an answer to an exercise is right or which mistake it is.

The lessons lie in ``notebooks/lessons``. Here are their checks, which hold no answers: marks of rounded values
(hashes), properties, and certificates, so that any optimum passes. `slider` turns a picture by one value.
"""

from teaching.exercises import Verdict, check, guess
from teaching.turning import slider

__all__ = ["Verdict", "check", "guess", "slider"]
