"""The product as a service on one machine: Prefect server, worker and deployments, started and stopped together.

Server and worker are ordinary `prefect` processes, each in a separate session. The package starts them, sends HTTP
requests to the server, and keeps its state in one folder (see `folder.ServiceFolder`).
"""
