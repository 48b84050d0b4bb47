"""Imports modules, waits for a line on standard input, and then runs a module like `python -m`.

    python -m bigcodeflow.prefect_service.imported_early IMPORTS MODULE ARGUMENT …

If no line comes because the process that should write it has ended, nothing is run.
"""

import runpy
import sys
from importlib import import_module


def main() -> None:
    """Import the modules, wait for a line, and run the module."""
    imports, module, *arguments = sys.argv[1:]
    for name in imports.split(","):
        import_module(name)
    if sys.stdin.readline():
        sys.argv = [module, *arguments]
        runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
