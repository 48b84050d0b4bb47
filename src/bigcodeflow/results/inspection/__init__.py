"""Inspection of recorded samples: which ones failed and why, one sample in detail, and exported folders."""
