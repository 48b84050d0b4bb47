"""Plug-in: all backends but the local one, their images, and a client of the original evaluator's space."""
