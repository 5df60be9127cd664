"""Proofs that a stranger can check: answers saved with their evidence, and a verifier that trusts nobody.

`record_of` writes down what an objective and a result claim, as arrays and numbers in the papers' letters: a
`ProofRecord`. `specmargin.proofs.verifier` checks such a record in ball and rational arithmetic, from its floats taken
as exact, and `specmargin.optima.replay` the log of a branch and bound. Neither shares code with the objectives and the
solvers that made the claim. `verify` does both steps.

Names load when they are first used: who checks a record loads none of those who made it.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
