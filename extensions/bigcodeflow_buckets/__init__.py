"""Plug-in: stores at a URL, such as a bucket of S3, with a replica of each store on each machine."""
