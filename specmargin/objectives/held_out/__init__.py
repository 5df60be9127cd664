"""Predictions at samples whose labels were withheld: leave-one-out, folds, calibration and conformal sets."""
