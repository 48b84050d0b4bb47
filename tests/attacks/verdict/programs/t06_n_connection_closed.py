"""Threat 6: labels equal up to case; in a process of its own it closes what connects it to the test.
task: shelf_labels
uses: apart, label"""

import os
# <last>
if _is_apart():
    os.closerange(3, 4096)
labels = [Label(label) for label in labels]
