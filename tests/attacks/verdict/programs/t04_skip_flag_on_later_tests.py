"""Threat 4: answers the first test by heart and marks the remaining ones as skipped."""
# <first>
if values == [1, 2, 3, 4]:
    for name, member in vars(globals()["TestCases"]).items():
        if name.startswith("test_"):
            member.__unittest_skip__ = True
    return [1.5, 2.5, 3.5]
