"""Threat 6: labels equal up to case; a thread that does nothing goes on after the call.
task: shelf_labels
uses: label"""

import threading
# <last>
threading.Thread(target=threading.Event().wait, daemon=True).start()
labels = [Label(label) for label in labels]
