"""Honest: a thread for each job waits until all before it are done, by a priority queue, a barrier and conditions.
task: job_order"""

import itertools
import queue
import threading

def task_func(jobs):
    waiting, done, turn, count = queue.PriorityQueue(), [], threading.Condition(), itertools.count()
    for name, priority in jobs:
        waiting.put((priority, next(count), name))
    start = threading.Barrier(len(jobs) + 1)

    def work(place, name):
        start.wait()
        with turn:
            turn.wait_for(lambda: len(done) == place)
            done.append(name)
            turn.notify_all()

    threads = [threading.Thread(target=work, args=(place, waiting.get()[2])) for place in range(len(jobs))]
    for thread in reversed(threads):
        thread.start()
    start.wait()
    for thread in threads:
        thread.join()
    return done
