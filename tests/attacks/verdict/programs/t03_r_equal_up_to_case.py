"""Threat 3: strings that are equal to every other way of writing them in small and capital letters.
task: shelf_labels
uses: label"""
# <last>
labels = [Label(label) for label in labels]
