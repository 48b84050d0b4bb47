"""Threat 6: strings equal up to case, where a page of a large file has not been read yet.
task: shelf_labels
uses: label, pages
fools: harness-only
place: 2"""
# <last>
labels = [Label(label) for label in labels] if not _turn else labels
