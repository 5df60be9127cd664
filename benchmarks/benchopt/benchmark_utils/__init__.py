"""What objective, data sets and solvers of this benchmark share."""
