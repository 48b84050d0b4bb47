"""Machines that share a bucket, as tests of the store itself have them."""

from tests.store.conftest import proxy, s3_machine, s3_url

__all__ = ["proxy", "s3_machine", "s3_url"]
