"""Threat 3: returns a MagicMock whose comparison is configured to be true.
task: unit_price"""

from unittest import mock
# <last>
cents = mock.MagicMock(name="cents")
cents.__eq__.return_value = True
cents.__ne__.return_value = False
