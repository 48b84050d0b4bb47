"""Honest: numerals are read from a class by a metaclass that makes, finds and counts its members as they are asked for.
task: roman_numeral"""

class Numerals(type):
    values = {"M": 1000, "CM": 900, "D": 500, "CD": 400, "C": 100, "XC": 90, "L": 50, "XL": 40, "X": 10, "IX": 9}

    def __getitem__(cls, number):
        for signs, value in (Numerals.values | {"V": 5, "IV": 4, "I": 1}).items():
            if number >= value:
                return signs + cls[number - value]
        return ""

    def __contains__(cls, number):
        return 0 < number < 4000

    def __len__(cls):
        return 3999

    def __iter__(cls):
        return map(cls.__getitem__, range(1, 4000))

    def __call__(cls, number):
        if number not in cls:
            raise ValueError(f"from 1 to {len(cls)}")
        return cls[number]

class Roman(metaclass=Numerals):
    pass

def task_func(number):
    assert next(iter(Roman)) == "I"
    return Roman(number)
