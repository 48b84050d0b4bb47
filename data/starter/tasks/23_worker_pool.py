# hard
import queue
import threading


def task_func(function, arguments, workers=4):
    """
    Call a function once for each argument, in a pool of threads. Worker threads take the arguments from a queue, so
    that a slow call does not hold up the others, and all threads have ended when the results are returned.

    Parameters:
    - function (callable): Function of one argument.
    - arguments (list): The arguments.
    - workers (int): Number of threads to start; never more than there are arguments. Default is 4.

    Returns:
    - tuple: The list of results in the order of the arguments, with None where the call raised, and a dict of the
      positions of failed calls mapped to the exceptions.

    Raises:
    - ValueError: If workers is smaller than 1.

    Requirements:
    - queue
    - threading

    Example:
    >>> task_func(len, ["ab", "c"])
    ([2, 1], {})
    """
    if workers < 1:
        raise ValueError("at least one worker is needed")
    jobs = queue.Queue()
    for job in enumerate(arguments):
        jobs.put(job)
    results = [None] * len(arguments)
    failures = {}

    def work():
        while True:
            try:
                position, argument = jobs.get_nowait()
            except queue.Empty:
                return
            try:
                results[position] = function(argument)
            except Exception as error:
                failures[position] = error

    threads = [threading.Thread(target=work) for _ in range(min(workers, len(arguments)))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results, failures


# --- tests ---
import threading
import time
import unittest


class TestCases(unittest.TestCase):
    def test_results_keep_their_order(self):
        results, failures = task_func(lambda n: n * n, list(range(50)))
        self.assertEqual((results, failures), ([n * n for n in range(50)], {}))

    def test_calls_overlap(self):
        barrier = threading.Barrier(3, timeout=5)
        results, failures = task_func(lambda _: barrier.wait() >= 0, [1, 2, 3], workers=3)
        self.assertEqual((results, failures), ([True] * 3, {}))

    def test_failures_are_collected(self):
        results, failures = task_func(lambda n: 10 // n, [5, 0, 2])
        self.assertEqual(results, [2, None, 5])
        self.assertEqual(list(failures), [1])
        self.assertIsInstance(failures[1], ZeroDivisionError)

    def test_number_of_threads_is_limited(self):
        seen = set()

        def note(_):
            seen.add(threading.get_ident())
            time.sleep(0.01)

        task_func(note, range(12), workers=2)
        self.assertLessEqual(len(seen), 2)
        self.assertNotIn(threading.get_ident(), seen)

    def test_threads_have_ended(self):
        before = threading.active_count()
        task_func(time.sleep, [0.01] * 5)
        self.assertEqual(threading.active_count(), before)

    def test_no_arguments(self):
        self.assertEqual(task_func(len, []), ([], {}))

    def test_bad_worker_count(self):
        with self.assertRaises(ValueError):
            task_func(len, ["a"], workers=0)
