"""Checks if passes were earned: passing programs are executed again, against altered tests."""
