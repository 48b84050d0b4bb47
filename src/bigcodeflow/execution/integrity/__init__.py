"""Test texts that contradict a task's test, which nobody who solves the task passes, and checks with them."""
