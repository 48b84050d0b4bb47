"""Conditions of a machine on which a verdict may depend: code that imitates them, and signs of them in tracebacks."""

import ast
import re
from typing import NamedTuple

from bigcodeflow.core.tracebacks import own_frames
from bigcodeflow.results.inspection.samples import SampleDetail


class Condition(NamedTuple):
    """Condition of another machine, such as the order of directory listings, and code that imitates it in a trial."""

    code: str
    """Code that is executed between program and test."""
    detail: str
    cause: str = "environment"


NETWORK = "an end of each program that asks another machine"
#: Exit code of programs that ask another machine under the condition NETWORK.
NETWORK_EXIT = 77
_NETWORK = f"""
def _asks_network(event, args, local=("localhost", "127.", "0.0.0.0", "::1", "None", "")):
    import os
    if event.startswith(("socket.connect", "socket.getaddrinfo", "socket.gethostby", "socket.sendto")):
        target = args[1] if event in ("socket.connect", "socket.sendto") else args[0]
        host = target[0] if isinstance(target, tuple) else target if event.startswith("socket.get") else "localhost"
        host = host.decode() if isinstance(host, bytes) else str(host)
        if host not in local and not host.startswith("127."):
            os._exit({NETWORK_EXIT})
__import__("sys").addaudithook(_asks_network)
"""
_LISTING = """
import glob, os
os.listdir = lambda *a, _list=os.listdir: sorted(_list(*a), reverse={reverse})
glob.glob = lambda *a, _list=glob.glob, **k: sorted(_list(*a, **k), reverse={reverse})
"""
_NOTEBOOK = """
try:
    import matplotlib.pyplot
    matplotlib.pyplot.show = lambda *a, **k: matplotlib.pyplot.close("all")
except ImportError:
    pass
"""
_LOAD = """
import threading
def _spin():
    while True:
        pass
for _ in range(8):
    threading.Thread(target=_spin, daemon=True).start()
"""
CONDITIONS = {
    "directories listed in order": Condition(_LISTING.format(reverse=False), "machine: order of directory listings"),
    "directories listed in reverse": Condition(_LISTING.format(reverse=True), "machine: order of directory listings"),
    "file descriptors below 256 open": Condition(
        "\nimport os\nfor _ in range(256):\n    os.open(os.devnull, os.O_RDONLY)\n", "machine: open file descriptors"
    ),
    "a notebook's matplotlib, whose show() closes figures": Condition(_NOTEBOOK, "machine: matplotlib's backend"),
    "a busy process": Condition(_LOAD, "load", cause="noise"),
    NETWORK: Condition(_NETWORK, "network"),
}
#: Patterns of tracebacks that show a cause in the environment, by detail of the cause.
_SIGNS = {
    "network": r"gaierror|URLError|ConnectionError|Connection(Refused|Reset)Error|Max retries exceeded|"
    r"Name or service not known|name resolution|Network is unreachable",
    "data": r"nltk\.download|Resource .{1,80} not found|Can't find model '|cannot open resource",
    "missing program": r"FileNotFoundError: .*: '[\w-]+'$|ExecutableNotFound|TesseractNotFound",
    "library version": r"ModuleNotFoundError|ImportError|module '[\w.]+' has no attribute|unexpected keyword argument",
}


def sign(trace: str) -> str:
    """Return the environment fault that a traceback shows, such as 'network' or 'data'; empty if it shows none."""
    return next((detail for detail, pattern in _SIGNS.items() if re.search(pattern, trace, re.MULTILINE)), "")


def foreign_line(sample: SampleDetail) -> str:
    """Return a line that recorded tracebacks name but our test lacks, such as 'line 9 in test_a'; '' if none."""
    try:
        tree = ast.parse(f"{sample.program}\n{sample.test}")
    except (SyntaxError, ValueError):
        return ""
    methods = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    for line, function in (frame for test in sample.failing_tests for frame in own_frames(test["trace"])):
        spans = [(one.lineno, one.end_lineno or 0) for one in methods if one.name == function]
        if function.startswith("test") and spans and not any(first <= line <= last for first, last in spans):
            return f"line {line} in {function}"
    return ""
