"""Plug-in: studies of tasks, models and libraries, each with a command, a flow and a page of the explorer."""
