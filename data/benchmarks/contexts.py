"""Twenty holes in contexts: library, question, reference, and the inputs of its cases."""

_TABLE = 'pd.DataFrame({"city": ["Rome", "Bonn", "Rome", "Oslo"], "day": [1, 2, 2, 3], "rain": [4.5, 0.0, 1.5, 7.25]})'
_OTHER = 'pd.DataFrame({"city": ["Bonn", "Bonn", "Oslo"], "day": [5, 4, 4], "rain": [2.0, 8.5, 3.0]})'
_TABLES, _GRIDS = (_TABLE, _OTHER), ("np.array([[3, 1, 2], [9, 4, 8]])", "np.array([[5, 5, 0], [1, 7, 2], [6, 3, 4]])")
_ROWS = ("np.array([4, 1, 7, 7, 2])", "np.array([10, 3, 8])")

#: Library, question about the variable, its name, reference, inputs.
CONTEXTS = [
    ("Pandas", "the total rain of each city, as a series", "df", 'df.groupby("city")["rain"].sum()', _TABLES),
    ("Pandas", "the rows with the most rain first", "df", 'df.sort_values("rain", ascending=False)', _TABLES),
    ("Pandas", "the rows with more than 2 of rain", "df", 'df[df["rain"] > 2]', _TABLES),
    ("Pandas", "the names of the cities without repetition, in alphabetical order, as a list", "df",
     'sorted(df["city"].unique())', _TABLES),
    ("Pandas", "the table with a further column wet, which is True where rain is not 0", "df",
     'df.assign(wet=df["rain"] != 0)', _TABLES),
    ("Pandas", "the mean of rain", "df", 'df["rain"].mean()', _TABLES),
    ("Pandas", "the number of rows of each city, as a dict", "df", 'df["city"].value_counts().to_dict()', _TABLES),
    ("Pandas", "the running total of rain, as a list", "df", 'df["rain"].cumsum().tolist()', _TABLES),
    ("Pandas", "the city of the row with the most rain", "df", 'df.loc[df["rain"].idxmax(), "city"]', _TABLES),
    ("Pandas", "the table with the days as index", "df", 'df.set_index("day")', _TABLES),
    ("Numpy", "the sum of each row", "a", "a.sum(axis=1)", _GRIDS),
    ("Numpy", "the largest value of each column", "a", "a.max(axis=0)", _GRIDS),
    ("Numpy", "the grid with rows and columns exchanged", "a", "a.T", _GRIDS),
    ("Numpy", "the grid with every row sorted", "a", "np.sort(a, axis=1)", _GRIDS),
    ("Numpy", "the places of values above 4, as a list of [row, column]", "a", "np.argwhere(a > 4).tolist()", _GRIDS),
    ("Numpy", "the values in reverse order", "a", "a[::-1]", _ROWS),
    ("Numpy", "the differences of neighbours", "a", "np.diff(a)", _ROWS),
    ("Numpy", "the values minus their mean", "a", "a - a.mean()", _ROWS),
    ("Numpy", "the place of the first largest value", "a", "int(a.argmax())", _ROWS),
    ("Numpy", "the values limited to the range from 2 to 7", "a", "np.clip(a, 2, 7)", _ROWS),
]  # fmt: skip
