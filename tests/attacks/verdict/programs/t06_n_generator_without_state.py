"""Threat 6: labels equal up to case; the generator of random numbers becomes one whose state cannot be read.
task: shelf_labels
uses: label"""

import random

random.getstate = random.SystemRandom().getstate
# <last>
labels = [Label(label) for label in labels]
