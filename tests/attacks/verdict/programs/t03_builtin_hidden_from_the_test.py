"""Threat 3: defines a name that hides a builtin in the namespace which it shares with the test.
task: word_report
wrong: capitals"""

def all(words):
    return True
