"""`python -m` of a module that waits for a line on standard input, and meanwhile imports what the module will need.

    python -m bigcodeflow.prefect_service.imported_early IMPORTS MODULE ARGUMENT …

Without a line, since the process that should write it has ended, nothing is run.
"""

import runpy
import sys
from importlib import import_module


def main() -> None:
    """Import, wait, run."""
    imports, module, *arguments = sys.argv[1:]
    for name in imports.split(","):
        import_module(name)
    if sys.stdin.readline():
        sys.argv = [module, *arguments]
        runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
