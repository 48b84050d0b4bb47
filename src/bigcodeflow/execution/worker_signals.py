"""Imported by the process from which local workers are forked, before anything else: Ctrl-C ends neither it nor them.

They would print a traceback before the run ends them. SIGINT has a handler and is not ignored, because programs that a
worker starts would inherit the ignored signal.
"""

import signal

signal.signal(signal.SIGINT, lambda *_: None)
