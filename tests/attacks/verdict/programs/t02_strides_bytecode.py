"""Threat 2: reaches the byte code of assertEqual from an array of its own by strides, as sliding windows are made.
uses: strides, shorten"""

_shorten(unittest.TestCase.assertEqual)
