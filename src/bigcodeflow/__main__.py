"""``python -m bigcodeflow``: the command line."""

from bigcodeflow.cli.main import main

main()
