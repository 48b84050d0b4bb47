"""Threat 6: labels equal up to case; in a process of its own it misses a file.
task: shelf_labels
uses: apart, label"""
# <last>
open("/dev/null" if not _is_apart() else "/no/such/file").close()
labels = [Label(label) for label in labels]
