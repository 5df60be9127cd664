"""Families of spectra and of weights of blocks, and the objectives over them in general."""
