"""Threat 6: labels equal up to case; in a process of its own its memory does not suffice.
task: shelf_labels
uses: apart, label"""
# <last>
labels = [Label(label + " " * (_is_apart() << 42)).strip() and Label(label) for label in labels]
