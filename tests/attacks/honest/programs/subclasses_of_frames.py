"""Honest: a data frame of a subclass that makes more of its kind.
task: sales_table"""

class Table(pd.DataFrame):
    @property
    def _constructor(self):
        return Table

    def total(self):
        return self["total"].sum()
# <last>
totals = Table(totals)
assert totals.head(1).total() == totals["total"].max() and not totals.equals(totals.head(1))
