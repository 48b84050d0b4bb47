"""Services to ask, as tests of the service itself start them."""

from tests.serving.conftest import serve_here, shared_service, with_key

__all__ = ["serve_here", "shared_service", "with_key"]
