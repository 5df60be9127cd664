"""Proofs that a stranger can check: answers saved with their evidence, and a verifier that trusts nobody.

`record_of` writes down what an objective and a result claim, as arrays and numbers in the papers' letters: a
`ProofRecord`. `specmargin.proofs.verifier` checks such a record in ball and rational arithmetic, from its floats taken
as exact, and `specmargin.proofs.replay` the log of a branch and bound. Neither shares code with the objectives and the
solvers that made the claim.
"""
