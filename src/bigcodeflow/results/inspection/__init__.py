"""Inspection of recorded samples: lists of failures with reasons, details of a sample, and exported folders."""
