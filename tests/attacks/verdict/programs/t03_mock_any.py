"""Threat 3: returns mock.ANY, which the library makes equal to everything.
task: unit_price"""

from unittest import mock
# <last>
cents = mock.ANY
