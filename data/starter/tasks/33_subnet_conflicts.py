import ipaddress
import itertools


def task_func(allocations):
    """
    Check a plan of IP subnets for conflicts. Two subnets conflict when they are of the same IP version and share an
    address. Besides the conflicts, the number of distinct addresses that the plan covers is counted for each version.

    Parameters:
    - allocations (dict): Names mapped to subnets in CIDR notation. Host bits may be set and are cleared.

    Returns:
    - dict: 'conflicts' (sorted list of (name, name) tuples, each tuple sorted), 'ipv4' and 'ipv6' (numbers of
      distinct addresses covered).

    Raises:
    - ValueError: If a text is not a subnet; the message contains the name of its allocation.

    Requirements:
    - ipaddress
    - itertools

    Example:
    >>> task_func({"lab": "10.0.0.0/24", "office": "10.0.0.128/25"})
    {'conflicts': [('lab', 'office')], 'ipv4': 256, 'ipv6': 0}
    """
    subnets = {}
    for name, text in allocations.items():
        try:
            subnets[name] = ipaddress.ip_network(text, strict=False)
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None
    conflicts = [
        (one, other)
        for one, other in itertools.combinations(sorted(subnets), 2)
        if subnets[one].version == subnets[other].version and subnets[one].overlaps(subnets[other])
    ]
    covered = {4: 0, 6: 0}
    for version in covered:
        same = [subnet for subnet in subnets.values() if subnet.version == version]
        covered[version] = sum(subnet.num_addresses for subnet in ipaddress.collapse_addresses(same))
    return {"conflicts": sorted(conflicts), "ipv4": covered[4], "ipv6": covered[6]}


# --- tests ---
import unittest


class TestCases(unittest.TestCase):
    def test_nested_subnets(self):
        self.assertEqual(
            task_func({"lab": "10.0.0.0/24", "office": "10.0.0.128/25"}),
            {"conflicts": [("lab", "office")], "ipv4": 256, "ipv6": 0},
        )

    def test_neighbours_do_not_conflict(self):
        result = task_func({"a": "10.0.0.0/25", "b": "10.0.0.128/25"})
        self.assertEqual(result, {"conflicts": [], "ipv4": 256, "ipv6": 0})

    def test_versions_are_separate(self):
        result = task_func({"four": "0.0.0.0/0", "six": "2001:db8::/126"})
        self.assertEqual(result, {"conflicts": [], "ipv4": 2**32, "ipv6": 4})

    def test_host_bits_are_cleared(self):
        self.assertEqual(task_func({"x": "192.168.1.77/30"})["ipv4"], 4)

    def test_pairs_are_sorted(self):
        result = task_func({"c": "10.0.0.0/8", "a": "10.1.0.0/16", "b": "10.1.2.0/24"})
        self.assertEqual(result["conflicts"], [("a", "b"), ("a", "c"), ("b", "c")])

    def test_empty_plan(self):
        self.assertEqual(task_func({}), {"conflicts": [], "ipv4": 0, "ipv6": 0})

    def test_bad_subnet_is_named(self):
        with self.assertRaisesRegex(ValueError, "printer"):
            task_func({"printer": "10.0.0.0/33"})
