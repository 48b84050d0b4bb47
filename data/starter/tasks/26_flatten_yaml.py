import os

import yaml


def task_func(folder, separator="."):
    """
    Read all YAML files of a folder into one flat dictionary. Files end in '.yml' or '.yaml' and are read in the order
    of their names with yaml.safe_load; a key is the path of the value: the file name without suffix, then the keys of
    the mappings and the 0-based positions of the list items on the way to it. Empty mappings, empty lists and files
    without content give no entry. Subfolders are ignored.

    Parameters:
    - folder (str): The folder to read.
    - separator (str): Text that joins the parts of a key. Default is '.'.

    Returns:
    - dict: Keys mapped to scalar values, in reading order.

    Raises:
    - ValueError: If a file is not valid YAML; the message starts with the file's name.

    Requirements:
    - os
    - yaml

    Example:
    >>> with open("web.yml", "w") as file:
    ...     _ = file.write("ports: [80, 443]")
    >>> task_func(".")
    {'web.ports.0': 80, 'web.ports.1': 443}
    """
    flat = {}

    def collect(key, value):
        if isinstance(value, dict):
            for name, item in value.items():
                collect(f"{key}{separator}{name}", item)
        elif isinstance(value, list):
            for position, item in enumerate(value):
                collect(f"{key}{separator}{position}", item)
        else:
            flat[key] = value

    for name in sorted(os.listdir(folder)):
        stem, suffix = os.path.splitext(name)
        path = os.path.join(folder, name)
        if suffix in (".yml", ".yaml") and os.path.isfile(path):
            with open(path) as file:
                try:
                    content = yaml.safe_load(file)
                except yaml.YAMLError as error:
                    raise ValueError(f"{name}: {error}") from None
            if content is not None:
                collect(stem, content)
    return flat


# --- tests ---
import os
import tempfile
import unittest


class TestCases(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()

    def tearDown(self):
        self.folder.cleanup()

    def flatten(self, texts, **options):
        for name, text in texts.items():
            with open(os.path.join(self.folder.name, name), "w") as file:
                file.write(text)
        return task_func(self.folder.name, **options)

    def test_lists_and_mappings(self):
        self.assertEqual(
            self.flatten({"web.yml": "ports: [80, 443]\ntls: {enabled: true}"}),
            {"web.ports.0": 80, "web.ports.1": 443, "web.tls.enabled": True},
        )

    def test_files_in_order(self):
        result = self.flatten({"b.yaml": "x: 1", "a.yml": "x: 2", "c.txt": "x: 3"})
        self.assertEqual(list(result.items()), [("a.x", 2), ("b.x", 1)])

    def test_separator(self):
        self.assertEqual(self.flatten({"a.yml": "b: {c: [d]}"}, separator="/"), {"a/b/c/0": "d"})

    def test_top_level_scalar(self):
        self.assertEqual(self.flatten({"n.yml": "42"}), {"n": 42})

    def test_empty_content(self):
        self.assertEqual(self.flatten({"e.yml": "", "f.yml": "a: {}\nb: []\nc: null"}), {"f.c": None})

    def test_subfolders_are_ignored(self):
        os.mkdir(os.path.join(self.folder.name, "sub.yml"))
        self.assertEqual(self.flatten({"a.yml": "b: 1"}), {"a.b": 1})

    def test_bad_file_is_named(self):
        with self.assertRaises(ValueError) as caught:
            self.flatten({"bad.yml": "a: [1"})
        self.assertTrue(str(caught.exception).startswith("bad.yml"))
