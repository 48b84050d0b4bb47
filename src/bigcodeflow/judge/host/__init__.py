"""Interchangeable backends that execute work items, behind the protocol in ``base``."""
