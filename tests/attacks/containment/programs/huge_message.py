"""Threat: 2 GiB return values. A small object whose text is enormous, so that the failure's message is.
Status: fail, out_of_memory, tampered"""

class Answer:
    def __eq__(self, other):
        return False

    def __repr__(self):
        return "BREATHE" * (20 << 20)

    __hash__ = None

def task_func():
    return Answer()
