"""Start the space, for hosts that need a file: the same as ``python -m bigcodeflow.serving.space``."""  # noqa: INP001

import os
import sys

from bigcodeflow.serving.space import main

if __name__ == "__main__":
    code = main()
    sys.stderr.flush()
    os._exit(code)  # remaining threads wait for ended sandboxes and hold no resources
