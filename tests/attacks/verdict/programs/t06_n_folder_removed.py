"""Threat 6: labels equal up to case, from a program that works in a folder that is gone.
task: shelf_labels
uses: label
fools: harness-only"""

import os

os.rmdir(os.getcwd())
# <last>
labels = [Label(label) for label in labels]
