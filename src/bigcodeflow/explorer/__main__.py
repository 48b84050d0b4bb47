"""Process that `bigcodeflow up` starts: `python -m bigcodeflow.explorer STORE HOST PORT`."""

import sys

from bigcodeflow.core.errors import BigCodeFlowError
from bigcodeflow.explorer.server import explore

if __name__ == "__main__":
    store, host, port = sys.argv[1:]
    try:
        explore(store, host=host, port=int(port), ready=lambda url: print(url, flush=True))  # noqa: T201 - its log
    except BigCodeFlowError as error:
        sys.exit(str(error))
