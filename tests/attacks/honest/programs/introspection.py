"""Honest: inspect.signature, getsource where there may be no source, getmembers, typing hints."""

import inspect
import json
import typing

class Shape:
    sides: int = 4

    def area(self, scale: float = 1.0) -> float:
        """Return the area."""
        return scale
# <first>
try:
    inspect.getsource(task_func)
except (OSError, TypeError) as error:
    print("no source:", error)
assert inspect.getsource(json.dumps) and inspect.getdoc(Shape.area) == "Return the area."
assert sorted(typing.get_type_hints(Shape)) == ["sides"]
assert [name for name, _ in inspect.getmembers(Shape, inspect.isfunction)] == ["area"]
assert list(inspect.signature(Shape.area).parameters) == ["self", "scale"]
