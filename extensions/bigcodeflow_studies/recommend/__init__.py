"""Recommend recorded models for a project: rank them on the tasks that use the project's libraries.

Nothing is executed or stored; only the catalog of a store is read. docs/recommend.md explains how the numbers are
computed.
"""
