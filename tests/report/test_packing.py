import base64
import json
import re
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bigcodeflow.report.samples import head, pack, tail

VALUES = st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists, max_leaves=20)


@pytest.mark.slow
@given(VALUES)
def test_a_pack_holds_the_same_value_and_no_markup(value):
    """What the page unpacks is what was packed, and the packed text cannot end a script element."""
    packed = pack(value)
    assert json.loads(zlib.decompress(base64.b64decode(packed))) == value
    assert re.fullmatch(r"[A-Za-z0-9+/=]*", packed)


@given(st.text(), st.integers(min_value=0, max_value=50))
def test_cutting_keeps_the_limit_and_counts_what_is_gone(text, limit):
    """A text within the limit stays as it is; a longer one keeps its beginning or end and says how much is left out."""
    if len(text) <= limit:
        assert head(text, limit) == tail(text, limit) == text
        return
    gone = f"{len(text) - limit:,} characters are not in this file"
    assert head(text, limit).startswith(text[:limit])
    assert tail(text, limit).endswith(text[len(text) - limit :])
    assert gone in head(text, limit)
    assert gone in tail(text, limit)
