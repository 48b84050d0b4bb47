# hard
from datetime import datetime, timedelta

import pytz


def task_func(day, zones, minutes=60, opening=9, closing=17):
    """
    Find the times at which people in several time zones can meet. A meeting may start at every full and half hour of
    a day in UTC; it suits a person when it lies, from start to end, within the opening hours of one Monday to Friday
    by the wall clock of the person's zone.

    Parameters:
    - day (str): The day in UTC as an ISO date.
    - zones (list of str): Names of the time zones, such as 'Europe/Paris'.
    - minutes (int): Length of the meeting. Default is 60.
    - opening (int): Hour at which a working day starts. Default is 9.
    - closing (int): Hour at which a working day ends, at most 23. Default is 17.

    Returns:
    - list of str: The possible starts in UTC as 'HH:MM', ascending.

    Raises:
    - ValueError: If a time zone is unknown or the list of zones is empty.

    Requirements:
    - datetime
    - pytz

    Example:
    >>> task_func("2024-01-15", ["Europe/Paris", "America/New_York"])
    ['14:00', '14:30', '15:00']
    """
    if not zones:
        raise ValueError("at least one time zone is needed")
    try:
        places = [pytz.timezone(name) for name in zones]
    except pytz.UnknownTimeZoneError as error:
        raise ValueError(f"unknown time zone {error}") from None
    midnight = pytz.utc.localize(datetime.fromisoformat(day))
    slots = []
    for half_hour in range(48):
        start = midnight + timedelta(minutes=30 * half_hour)
        for place in places:
            here, there = start.astimezone(place), (start + timedelta(minutes=minutes)).astimezone(place)
            first = here.replace(hour=opening, minute=0, tzinfo=None)
            last = here.replace(hour=closing, minute=0, tzinfo=None)
            inside = first <= here.replace(tzinfo=None) and there.replace(tzinfo=None) <= last
            if here.weekday() > 4 or not inside:
                break
        else:
            slots.append(start.strftime("%H:%M"))
    return slots


# --- tests ---
import unittest


class TestCases(unittest.TestCase):
    def test_two_continents(self):
        self.assertEqual(task_func("2024-01-15", ["Europe/Paris", "America/New_York"]), ["14:00", "14:30", "15:00"])

    def test_daylight_saving_time_shifts_the_slots(self):
        winter, summer = task_func("2024-01-15", ["Europe/Paris"]), task_func("2024-07-15", ["Europe/Paris"])
        self.assertEqual((winter[0], winter[-1]), ("08:00", "15:00"))
        self.assertEqual((summer[0], summer[-1]), ("07:00", "14:00"))

    def test_no_common_hours(self):
        self.assertEqual(task_func("2024-01-15", ["Asia/Tokyo", "America/New_York"]), [])

    def test_local_weekday_counts(self):
        self.assertEqual(task_func("2024-01-14", ["UTC"]), [])
        self.assertEqual(task_func("2024-01-14", ["Pacific/Auckland"])[0], "20:00")

    def test_quarter_hour_zones(self):
        self.assertEqual(task_func("2024-01-15", ["Asia/Kathmandu"])[0], "03:30")

    def test_long_meetings_and_other_hours(self):
        self.assertEqual(task_func("2024-01-15", ["UTC"], minutes=450), ["09:00", "09:30"])
        self.assertEqual(task_func("2024-01-15", ["UTC"], minutes=30, opening=6, closing=7), ["06:00", "06:30"])

    def test_bad_zones(self):
        for zones in ([], ["Mars/Olympus"]):
            with self.assertRaises(ValueError):
                task_func("2024-01-15", zones)
