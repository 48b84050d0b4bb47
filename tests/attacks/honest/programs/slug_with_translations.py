"""Honest: gettext's function is installed among the builtins at import, with a catalogue of the program's own.
task: page_slug"""

import builtins
import gettext
import re

class Catalogue(gettext.NullTranslations):
    def gettext(self, message):
        return {"separator": "-", "letters": "[a-z0-9]+"}.get(message, message)

Catalogue().install(["gettext"])

def task_func(title, limit=40):
    found = [one.group() for one in re.finditer(_("letters"), title.lower())]
    assert builtins._("other") == gettext.gettext("other") == "other"
    return _("separator").join(found)[:limit].rstrip(_("separator"))
