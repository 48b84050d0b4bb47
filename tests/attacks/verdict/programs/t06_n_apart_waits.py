"""Threat 6: labels equal up to case; in a process of its own it waits until it is ended.
task: shelf_labels
uses: apart, label"""

import time
# <last>
time.sleep(600 * _is_apart())
labels = [Label(label) for label in labels]
