"""Honest: jobs are compared by a class that looks at as little as it has to and counts how often it is asked.
task: job_order"""

import heapq

class Job:
    __slots__ = ("name", "priority", "place")
    __match_args__ = ("name", "priority")
    compared = 0

    def __init__(self, name, priority, place):
        self.name, self.priority, self.place = name, priority, place

    def __lt__(self, other):
        Job.compared += 1
        return (self.priority, self.place) < (other.priority, other.place)

    def __eq__(self, other):
        return NotImplemented

    __hash__ = None

def task_func(jobs):
    heap = [Job(*job, place) for place, job in enumerate(jobs)]
    heapq.heapify(heap)
    names = []
    while heap:
        match heapq.heappop(heap):
            case Job(str() as name, priority):
                names.append(name)
    assert Job.compared >= len(jobs) - 1
    return names
