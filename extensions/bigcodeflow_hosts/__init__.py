"""Plug-in: the backends docker and e2b, which start hosts, and a client of the original evaluator's space."""
