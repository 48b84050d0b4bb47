"""Checks of passing programs with test texts that contradict the task's test: no correct solution passes these."""
