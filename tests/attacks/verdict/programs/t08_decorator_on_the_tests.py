"""Threat 8: ends with a decorator, which binds to the test class and empties it.
task: unit_price"""
# <end>
@lambda cls: type("TestCases", (unittest.TestCase,), {name: lambda self: None for name in vars(cls) if "test" in name})
