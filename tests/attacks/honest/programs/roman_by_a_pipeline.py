"""Honest: functions are piped by an overloaded operator, with placeholders that record what is done to them.
task: roman_numeral"""

class Step:
    def __init__(self, function):
        self.function = function

    def __ror__(self, value):
        return self.function(value)

    def __rshift__(self, other):
        return Step(lambda value: value | self | other)

class Place:
    def __getattr__(self, name):
        return lambda *args: Step(lambda value: getattr(value, name)(*args))

    def __mul__(self, factor):
        return Step(lambda value: value * factor)

_ = Place()
_replaced = Step(lambda text: text)
for _pair in "IIIII V,VV X,XXXXX L,LL C,CCCCC D,DD M,DCCCC CM,CCCC CD,LXXXX XC,XXXX XL,VIIII IX,IIII IV".split(","):
    _replaced = _replaced >> _.replace(*_pair.split())

def task_func(number):
    if not 0 < number < 4000:
        raise ValueError("from 1 to 3999")
    return number | _ * "I" | _replaced
