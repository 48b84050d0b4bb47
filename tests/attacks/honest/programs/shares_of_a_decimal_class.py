"""Honest: the share is a subclass of Decimal that keeps its class in sums and knows its currency.
task: exact_share"""

class Euro(Decimal):
    currency = "EUR"

    def __new__(cls, value="0", context=None):
        return super().__new__(cls, value, context)

    def __add__(self, other, context=None):
        return type(self)(super().__add__(other))

    __radd__ = __add__

    def __format__(self, spec):
        return super().__format__(spec or ".2f") + " " + self.currency

    def __repr__(self):
        return f"Euro('{self!s}')"
# <last>
share = Euro(share)
assert f"{share + share}".endswith("EUR") and type(share + 1) is Euro
