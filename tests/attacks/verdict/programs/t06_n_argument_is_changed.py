"""Threat 6: labels equal up to case; the list that was given, which nobody looks at, becomes longer.
task: shelf_labels
uses: label"""
# <last>
names.append("seen")
labels = [Label(label) for label in labels]
