"""Honest: a registering metaclass, __init_subclass__, abstract classes, descriptors and type calls."""

import abc
import contextlib

class Registry(type):
    known = {}

    def __new__(meta, name, bases, names):
        cls = super().__new__(meta, name, bases, names)
        meta.known[name] = cls
        return cls

class Plugin(metaclass=Registry):
    def __init_subclass__(cls, **options):
        super().__init_subclass__()
        cls.label = options.get("label", cls.__name__)

class Positive:
    def __set_name__(self, owner, name):
        self.name = "_" + name

    def __get__(self, instance, owner):
        return getattr(instance, self.name)

    def __set__(self, instance, value):
        if value <= 0:
            raise ValueError("must be positive")
        setattr(instance, self.name, value)

class Shape(abc.ABC):
    size = Positive()

    @abc.abstractmethod
    def area(self): ...

class Square(Shape):
    def area(self):
        return self.size**2

class Made(Plugin):
    x = 1
# <first>
square = Square()
square.size = 2
assert (square.area(), sorted(Registry.known), Made.label) == (4, ["Made", "Plugin"], "Made")
assert isinstance(type("Other", (), {"x": 1})().x, int)
for refused in (Shape, lambda: setattr(square, "size", -1)):
    with contextlib.suppress(TypeError, ValueError):
        assert refused() is NotImplemented
