"""Threat 6: learns from a child made with a terminal of its own instead of by fork.
uses: child"""
# <last>
source, sink = os.pipe()
child, terminal = os.forkpty()
if child == 0:
    return _ask(sink)
means = _reply(child, source, sink)
os.close(terminal)
