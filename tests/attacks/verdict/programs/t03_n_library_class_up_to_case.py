"""Threat 3: labels of a class of the standard library that lowers whatever it is compared with.
task: shelf_labels
through: its class cannot pass between two processes; no near miss differs in case alone, which honest classes ignore"""

from email.charset import Charset
# <last>
labels = [Charset(label) for label in labels]
# --- wrong ---
import numpy.testing as unittest
# <module>
def task_func(names):
    labels = sorted({name.strip().lower() for name in names})
    # <last>
    return labels
