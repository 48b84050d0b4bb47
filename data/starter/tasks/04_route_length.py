import json
import math

EARTH_RADIUS_KM = 6371.0


def task_func(geojson_text):
    """
    Measure a GeoJSON LineString along great circles. Distances between neighbouring points use the haversine formula
    on a sphere of radius EARTH_RADIUS_KM. GeoJSON gives a position as [longitude, latitude] in degrees; further
    numbers of a position are ignored.

    Parameters:
    - geojson_text (str): JSON text of an object whose 'type' is 'LineString' and whose 'coordinates' is a list of
      positions.

    Returns:
    - dict: 'length_km' (float, rounded to 3 digits), 'longest_leg' (0-based number of the longest leg, the first of
      equals, None without legs) and 'closed' (bool, True when there are legs and the first and last position have
      the same longitude and latitude).

    Raises:
    - ValueError: If the text is not JSON, or the object is not a LineString.

    Requirements:
    - json
    - math

    Example:
    >>> task_func('{"type": "LineString", "coordinates": [[0, 0], [0, 1]]}')
    {'length_km': 111.195, 'longest_leg': 0, 'closed': False}
    """
    line = json.loads(geojson_text)
    if not isinstance(line, dict) or line.get("type") != "LineString":
        raise ValueError("the object is not a LineString")
    points = [tuple(position[:2]) for position in line["coordinates"]]
    legs = []
    for (start_longitude, start_latitude), (end_longitude, end_latitude) in zip(points, points[1:]):
        half_height = math.sin(math.radians(end_latitude - start_latitude) / 2)
        half_width = math.sin(math.radians(end_longitude - start_longitude) / 2)
        shrink = math.cos(math.radians(start_latitude)) * math.cos(math.radians(end_latitude))
        legs.append(2 * EARTH_RADIUS_KM * math.asin(math.sqrt(half_height**2 + shrink * half_width**2)))
    return {
        "length_km": round(math.fsum(legs), 3),
        "longest_leg": legs.index(max(legs)) if legs else None,
        "closed": bool(legs) and points[0] == points[-1],
    }


# --- tests ---
import json
import unittest


def line(*positions):
    return json.dumps({"type": "LineString", "coordinates": positions})


class TestCases(unittest.TestCase):
    def test_one_degree_of_latitude(self):
        self.assertEqual(task_func(line([0, 0], [0, 1])), {"length_km": 111.195, "longest_leg": 0, "closed": False})

    def test_longitude_shrinks_towards_the_pole(self):
        self.assertAlmostEqual(task_func(line([10, 60], [11, 60]))["length_km"], 55.597, places=2)

    def test_round_trip_is_closed(self):
        result = task_func(line([5, 5], [6, 5], [6, 7], [5, 5]))
        self.assertTrue(result["closed"])
        self.assertEqual(result["longest_leg"], 2)

    def test_elevation_is_ignored(self):
        self.assertEqual(
            task_func(line([0, 0, 10], [1, 0, 99], [0, 0, 50])),
            {"length_km": 222.39, "longest_leg": 0, "closed": True},
        )

    def test_single_point(self):
        self.assertEqual(task_func(line([3, 4])), {"length_km": 0.0, "longest_leg": None, "closed": False})

    def test_not_a_line_string(self):
        for text in ('{"type": "Point", "coordinates": [1, 2]}', "[1, 2]", "no json"):
            with self.assertRaises(ValueError):
                task_func(text)
