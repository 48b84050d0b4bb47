# ruff: noqa: INP001 -- a program of the image's build, in no package
"""End the build of an image whose environment lacks data files: require_data.py ENVIRONMENT.

Tasks that read such a file could not be judged, and an image is made once for many machines.
"""

import sys

from bigcodeflow.judge.environments import find_environment

missing = find_environment(sys.argv[1]).missing_data
if missing:
    sys.exit(
        f"the image would lack {', '.join(missing)}: put each file below deployments/sandbox/data, at that path, and "
        "build again"
    )
