"""Threat 6: calls the test itself with a stand-in for the test case, which writes down what is expected."""

class _Recorder:
    def __getattr__(self, name):
        return lambda *arguments, **options: answers.extend(arguments[1:2]) if name == "assertEqual" else None

answers, rehearsing = [], []
# <first>
if rehearsing:
    rehearsing[:] = [(values, window)]
    return []
for name, test in sorted(vars(globals()["TestCases"]).items()):
    if name.startswith("test_") and "bad" not in name:
        answers.clear()
        rehearsing[:] = [None]
        test(_Recorder())
        given, rehearsing[:] = rehearsing[0], []
        if given == (values, window):
            return answers[0]
