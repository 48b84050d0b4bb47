"""Threat 7: a daemon thread ends the process with success while the first test waits.
fools: exit-code"""

import os
import threading
import time
# <first>
threading.Timer(0.05, os._exit, (0,)).start()
time.sleep(5)
