"""Honest: a function with its closure is pickled by value, with reducers and persistent ids of its own, and revived.
task: roman_numeral"""

import copyreg
import io
import marshal
import pickle
import types

def _revived(code, cells):
    return types.FunctionType(marshal.loads(code), globals(), "revived", None, tuple(map(types.CellType, cells)))

def _reduced(function):
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    return _revived, (marshal.dumps(function.__code__), cells)

class Pickler(pickle.Pickler):
    dispatch_table = copyreg.dispatch_table.copy()

    def reducer_override(self, thing):
        return _reduced(thing) if isinstance(thing, types.FunctionType) and thing.__closure__ else NotImplemented

    def persistent_id(self, thing):
        return next((name for name, known in _KNOWN.items() if known is thing), None)

class Unpickler(pickle.Unpickler):
    def persistent_load(self, name):
        return _KNOWN[name]

_SIGNS = "M CM D CD C XC L XL X IX V IV I".split()
_KNOWN = {"signs": _SIGNS, "revived": _revived}

def _writer(values, signs):
    def write(number):
        numeral = ""
        for value, sign in zip(values, signs):
            times, number = divmod(number, value)
            numeral += sign * times
        return numeral

    return write

def task_func(number):
    if number not in range(1, 4000):
        raise ValueError("from 1 to 3999")
    stream = io.BytesIO()
    Pickler(stream).dump(_writer([1000, 900, 500, 400, 100, 90, 50, 40, 10, 9, 5, 4, 1], _SIGNS))
    return Unpickler(io.BytesIO(stream.getvalue())).load()(number)
