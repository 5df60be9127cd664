"""What `LabelSearch` tries of each kind of estimator, and what left-out samples say of it."""
