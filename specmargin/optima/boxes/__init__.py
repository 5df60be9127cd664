"""Global minima of S3VMs: bounds, branch and bound, probing, and the logs that prove them."""
