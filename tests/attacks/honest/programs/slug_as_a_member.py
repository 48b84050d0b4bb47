"""Honest: the name is a member of an enumeration of texts that is made for it.
task: page_slug"""

import enum
# <last>
slug = enum.StrEnum("Slug", {"PAGE": slug}, module=__name__).PAGE
assert slug.name == "PAGE" and type(slug)(str(slug)) is slug
