"""Samples, splits and fits of the papers, as their protocols have them."""
