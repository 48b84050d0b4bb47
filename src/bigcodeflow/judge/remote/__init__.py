"""Execution outside this process: the protocol, the host program, and a module for each kind of backend."""
