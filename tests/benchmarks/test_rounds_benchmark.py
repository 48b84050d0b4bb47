"""The measurement's own look for test text, which must not be the product's."""

import rounds

TEST = "class TestCases:\n    def test_it(self):\n        owls = load()\n        self.assertEqual(task_func(owls), ['a', 'b'])\n"


def test_lines_and_windows_are_found_and_what_is_known_is_not() -> None:
    """However it is quoted; names of test methods are left out."""
    assert rounds.quoted("see\n  owls = load()\n", TEST, [], [])
    assert rounds.quoted('KeyError: assertEqual(task_func(owls), ["a", "b"])', TEST, [], [])
    assert not rounds.quoted("see\n  owls = load()\n", TEST, ["x\nowls = load()"], [])
    assert not rounds.quoted("test_it fails", TEST, [], ["test_it"])
