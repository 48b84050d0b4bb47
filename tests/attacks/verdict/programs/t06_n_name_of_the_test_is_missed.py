"""Threat 6: labels equal up to case; where the test class is out of sight, its name raises.
task: shelf_labels
uses: label"""
# <last>
labels = [TestCases and Label(label) for label in labels]
