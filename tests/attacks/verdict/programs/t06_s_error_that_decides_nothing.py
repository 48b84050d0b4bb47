"""Threat 6: strings equal up to case; in a process of its own it raises what names the judge's own error.
task: shelf_labels
uses: apart, label"""
# <last>
if _is_apart():
    raise ValueError("separate.UntransferableError")
labels = [Label(label) for label in labels]
