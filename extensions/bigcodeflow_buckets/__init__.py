"""Plug-in: stores at a URL, such as a bucket of S3, with a replica of them on each machine."""
