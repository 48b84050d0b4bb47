"""Threat 6: strings equal up to case; in a process of its own its import does not end well.
task: shelf_labels
uses: apart, label"""

if _is_apart():
    raise SystemExit
# <last>
labels = [Label(label) for label in labels]
