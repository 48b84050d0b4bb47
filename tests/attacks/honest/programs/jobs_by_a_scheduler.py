"""Honest: a scheduler with a clock of its own runs the jobs, without waiting.
task: job_order"""

import math
import sched

class Clock:
    now = -math.inf

    def __call__(self):
        return self.now

    def delay(self, seconds):
        self.now = self.scheduler.queue[0].time if self.scheduler.queue else self.now

def task_func(jobs):
    clock, done = Clock(), []
    clock.scheduler = sched.scheduler(clock, clock.delay)
    for name, priority in jobs:
        clock.scheduler.enterabs(priority, 0, done.append, (name,))
    clock.scheduler.run()
    return done
