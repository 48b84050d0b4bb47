import re
from collections import defaultdict
from datetime import datetime

LINE = r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) (\w+) (login|logout)"


def task_func(log_text):
    """
    Sum up how long users were logged in. Lines of the log that match LINE as a whole give a time, a user and what
    happened; all other lines are ignored. A login of a user who is logged in already is ignored, and so is a logout
    of a user who is not. Lines are in chronological order.

    Parameters:
    - log_text (str): The log.

    Returns:
    - dict: 'seconds' (users mapped to their total whole seconds in closed sessions, sorted by user; users without a
      closed session are left out) and 'open' (sorted list of users who are still logged in at the end).

    Raises:
    - ValueError: If a matching line holds a time that does not exist.

    Requirements:
    - re
    - collections
    - datetime

    Example:
    >>> task_func("2024-05-01 10:00:00 ann login\\n2024-05-01 10:00:30 ann logout\\n")
    {'seconds': {'ann': 30}, 'open': []}
    """
    since = {}
    seconds = defaultdict(int)
    for line in log_text.splitlines():
        match = re.fullmatch(LINE, line.strip())
        if not match:
            continue
        moment = datetime.strptime(match[1], "%Y-%m-%d %H:%M:%S")
        user = match[2]
        if match[3] == "login":
            since.setdefault(user, moment)
        elif user in since:
            seconds[user] += int((moment - since.pop(user)).total_seconds())
    return {"seconds": dict(sorted(seconds.items())), "open": sorted(since)}


# --- tests ---
import unittest


class TestCases(unittest.TestCase):
    def test_one_session(self):
        log = "2024-05-01 10:00:00 ann login\n2024-05-01 10:00:30 ann logout\n"
        self.assertEqual(task_func(log), {"seconds": {"ann": 30}, "open": []})

    def test_sessions_over_midnight_and_leap_day(self):
        log = "2024-02-28 23:00:00 bo login\n2024-03-01 01:00:00 bo logout"
        self.assertEqual(task_func(log)["seconds"], {"bo": 26 * 3600})

    def test_several_users_are_sorted(self):
        log = """
        2024-05-01 10:00:00 zed login
        2024-05-01 10:00:00 ann login
        2024-05-01 10:01:00 zed logout
        2024-05-01 10:02:00 ann logout
        2024-05-01 10:03:00 zed login
        2024-05-01 10:03:05 zed logout
        """
        self.assertEqual(list(task_func(log)["seconds"].items()), [("ann", 120), ("zed", 65)])

    def test_repeated_login_is_ignored(self):
        log = "2024-05-01 10:00:00 a login\n2024-05-01 10:00:05 a login\n2024-05-01 10:00:09 a logout"
        self.assertEqual(task_func(log)["seconds"], {"a": 9})

    def test_open_sessions_and_stray_logouts(self):
        log = "2024-05-01 10:00:00 c logout\n2024-05-01 10:00:00 b login\n2024-05-01 10:00:00 a login"
        self.assertEqual(task_func(log), {"seconds": {}, "open": ["a", "b"]})

    def test_other_lines_are_ignored(self):
        log = "boot\n2024-05-01 10:00:00 a login now\n2024-05-01 a login\n"
        self.assertEqual(task_func(log), {"seconds": {}, "open": []})

    def test_impossible_time(self):
        with self.assertRaises(ValueError):
            task_func("2024-02-30 10:00:00 a login")
