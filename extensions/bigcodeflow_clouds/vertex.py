"""Google's models in a Google Cloud project."""

import os
from typing import Any

from bigcodeflow.generation.model_api import RequestError
from bigcodeflow_clouds.google import GoogleProvider


class VertexProvider(GoogleProvider):
    """Provider for Google's models in a Google Cloud project, with this machine's Google Cloud credentials."""

    address = "https://aiplatform.googleapis.com"

    def _account(self) -> dict[str, Any]:
        project, location = os.environ.get("GOOGLE_CLOUD_PROJECT"), os.environ.get("GOOGLE_CLOUD_LOCATION", "global")
        if not project:
            raise RequestError("authentication", "no Google project: set the environment variable GOOGLE_CLOUD_PROJECT")
        return {"vertexai": True, "project": project, "location": location}
