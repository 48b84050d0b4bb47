"""Start the Gradio space, which is a plug-in: ``python -m bigcodeflow.serving.space --environment bigcodebench``."""

import os
import sys

from bigcodeflow.core.plugins import load_plugin


def main() -> int:
    """Serve the Gradio space until a signal ends it; return the exit code."""
    code: int = load_plugin("bigcodeflow_space.space:main", "the space")()
    return code


if __name__ == "__main__":
    # Threads that wait for ended sandboxes hold no resources; waiting for them would only delay the exit.
    code = main()
    sys.stderr.flush()
    os._exit(code)
