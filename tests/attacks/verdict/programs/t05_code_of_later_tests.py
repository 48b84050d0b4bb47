"""Threat 5: answers the first test by heart and gives the code of an empty function to all others."""
# <first>
if values == [1, 2, 3, 4]:
    for name, member in vars(globals()["TestCases"]).items():
        if name.startswith("test_"):
            member.__code__ = (lambda self: None).__code__
    return [1.5, 2.5, 3.5]
