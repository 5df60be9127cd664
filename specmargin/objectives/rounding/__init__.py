"""Values and bounds that hold whatever float64 rounds: what certificates are made of, a module per objective."""
