import difflib
import textwrap


def task_func(old_text, new_text, width=40):
    """
    Summarize the change between two texts for a review. Lines are compared with difflib.SequenceMatcher without its
    junk heuristic; each changed line is listed with a sign and shortened to `width` characters with
    textwrap.shorten and the placeholder '...'.

    Parameters:
    - old_text (str): The text before the change.
    - new_text (str): The text after the change.
    - width (int): Greatest length of a listed line without its sign. Default is 40.

    Returns:
    - dict: 'added' and 'removed' (numbers of lines), 'similarity' (ratio of the line sequences, rounded to 3 digits)
      and 'lines' (list of '- …' and '+ …' strings, in order; within one changed block removed lines first).

    Requirements:
    - difflib
    - textwrap

    Example:
    >>> task_func("a\\nb\\n", "a\\nc\\n")
    {'added': 1, 'removed': 1, 'similarity': 0.5, 'lines': ['- b', '+ c']}
    """
    old_lines, new_lines = old_text.splitlines(), new_text.splitlines()
    matcher = difflib.SequenceMatcher(None, old_lines, new_lines, autojunk=False)
    removed, added, listed = 0, 0, []
    for operation, old_start, old_end, new_start, new_end in matcher.get_opcodes():
        if operation == "equal":
            continue
        removed += old_end - old_start
        added += new_end - new_start
        changes = [("-", line) for line in old_lines[old_start:old_end]]
        changes += [("+", line) for line in new_lines[new_start:new_end]]
        listed += [f"{sign} {textwrap.shorten(line, width, placeholder='...')}" for sign, line in changes]
    return {"added": added, "removed": removed, "similarity": round(matcher.ratio(), 3), "lines": listed}


# --- tests ---
import unittest


class TestCases(unittest.TestCase):
    def test_one_line_replaced(self):
        self.assertEqual(
            task_func("a\nb\n", "a\nc\n"),
            {"added": 1, "removed": 1, "similarity": 0.5, "lines": ["- b", "+ c"]},
        )

    def test_equal_texts(self):
        self.assertEqual(task_func("x\ny", "x\ny"), {"added": 0, "removed": 0, "similarity": 1.0, "lines": []})

    def test_pure_insertion(self):
        result = task_func("a\nd", "a\nb\nc\nd")
        self.assertEqual((result["added"], result["removed"], result["lines"]), (2, 0, ["+ b", "+ c"]))

    def test_long_lines_are_shortened(self):
        result = task_func("", "the quick brown fox jumps", width=12)
        self.assertEqual(result["lines"], ["+ the quick..."])

    def test_blocks_stay_in_order(self):
        result = task_func("a\nb\nc\nd", "a\nB\nc\nD")
        self.assertEqual(result["lines"], ["- b", "+ B", "- d", "+ D"])

    def test_from_nothing(self):
        self.assertEqual(task_func("", "n")["similarity"], 0.0)

    def test_frequent_lines_still_match(self):
        text = "same\n" * 300
        self.assertEqual(task_func(text, text + "end\n")["lines"], ["+ end"])
