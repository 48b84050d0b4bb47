"""Interchangeable places where work items are executed, behind the protocol in ``base``."""
