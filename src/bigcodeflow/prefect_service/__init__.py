"""The product as a service on one machine: a Prefect server, a worker and the deployments, started and stopped as one.

Both are ordinary `prefect` processes with a session of their own. The package starts them, talks HTTP to the server,
and keeps all that it has to remember in one folder (see `folder.ServiceFolder`).
"""
