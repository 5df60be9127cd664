"""What the estimators share: parameters, checks, graphs, functions, searches, calibration and conformal sets."""
