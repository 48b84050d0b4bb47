"""Executes for others: over HTTP (`bigcodeflow serve`), and as a Gradio space, which answers the same HTTP API.

- ``request_parsing``  a request as work: what it may ask for, and what its tests are
- ``jobs``             the queue: equal work is executed once, each batch has its turn
- ``service``          reads, plans, executes, judges and checks batches
- ``access``           who may ask, and how much at a time
- ``app``, ``server``  the addresses, and the process from its start to a clean end
- ``space``, ``space_page``, ``evaluations``  the space: its process, its page, and the runs that the page starts
"""
