"""The product as a service on one machine: a Prefect server, a worker and the deployments, started and stopped as one.

Server and worker are ordinary `prefect` processes, each in a separate session. The package starts them, sends HTTP
requests to the server, and keeps its state in one folder (see `folder.ServiceFolder`).
"""
