"""Threat 6: forks: the child's result is always equal and sends what it is compared with; the parent gives that as its answer.
uses: child"""
# <last>
source, sink = os.pipe()
child = os.fork()
if child == 0:
    return _ask(sink)
means = _reply(child, source, sink)
