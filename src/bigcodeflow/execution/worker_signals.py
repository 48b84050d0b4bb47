"""Import this first in the process from which local workers are forked, so that Ctrl-C ends none of these processes.

Otherwise the workers would print tracebacks before the run ends them. SIGINT gets a handler and is not ignored, because
programs that a worker starts would inherit an ignored signal.
"""

import signal

signal.signal(signal.SIGINT, lambda *_: None)
