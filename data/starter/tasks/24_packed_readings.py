import io
import struct
import zlib

RECORD = struct.Struct("<IHf")


def task_func(stream):
    """
    Read packed sensor readings from a binary stream. The stream starts with the four bytes b'SENS' and a little-endian
    unsigned 32-bit number of records, followed by the records (layout RECORD: seconds, sensor number, value) and by
    the little-endian CRC-32 of all record bytes. Bytes after the checksum are left unread.

    Parameters:
    - stream (io.BufferedIOBase): A binary stream at the start of the data.

    Returns:
    - dict: Sensor numbers mapped to lists of (seconds, value) tuples in ascending order of seconds; values are
      rounded to 3 digits.

    Raises:
    - ValueError: If the first four bytes are wrong, the data end too early, or the checksum differs.

    Requirements:
    - io
    - struct
    - zlib

    Example:
    >>> body = RECORD.pack(60, 7, 1.5)
    >>> data = b"SENS" + struct.pack("<I", 1) + body + struct.pack("<I", zlib.crc32(body))
    >>> task_func(io.BytesIO(data))
    {7: [(60, 1.5)]}
    """

    def take(count):
        data = stream.read(count)
        if len(data) < count:
            raise ValueError("the data end too early")
        return data

    if take(4) != b"SENS":
        raise ValueError("these are not sensor readings")
    (count,) = struct.unpack("<I", take(4))
    body = take(count * RECORD.size)
    (checksum,) = struct.unpack("<I", take(4))
    if checksum != zlib.crc32(body):
        raise ValueError("the checksum differs")
    readings = {}
    for seconds, sensor, value in RECORD.iter_unpack(body):
        readings.setdefault(sensor, []).append((seconds, round(value, 3)))
    return {sensor: sorted(values) for sensor, values in readings.items()}


# --- tests ---
import io
import struct
import unittest
import zlib


def packed(*records, checksum_shift=0):
    body = b"".join(struct.pack("<IHf", *record) for record in records)
    checksum = (zlib.crc32(body) + checksum_shift) % 2**32
    return b"SENS" + struct.pack("<I", len(records)) + body + struct.pack("<I", checksum)


class TestCases(unittest.TestCase):
    def test_one_record(self):
        self.assertEqual(task_func(io.BytesIO(packed((60, 7, 1.5)))), {7: [(60, 1.5)]})

    def test_records_are_grouped_and_sorted(self):
        data = packed((90, 1, 2.0), (30, 1, 0.1), (60, 2, -4.25))
        self.assertEqual(task_func(io.BytesIO(data)), {1: [(30, 0.1), (90, 2.0)], 2: [(60, -4.25)]})

    def test_no_records(self):
        self.assertEqual(task_func(io.BytesIO(packed())), {})

    def test_rest_of_the_stream_is_left(self):
        stream = io.BytesIO(packed((1, 2, 3.0)) + b"more")
        task_func(stream)
        self.assertEqual(stream.read(), b"more")

    def test_wrong_start(self):
        with self.assertRaises(ValueError):
            task_func(io.BytesIO(b"SNES" + packed()[4:]))

    def test_cut_anywhere(self):
        data = packed((1, 2, 3.0))
        for length in range(len(data)):
            with self.assertRaises(ValueError):
                task_func(io.BytesIO(data[:length]))

    def test_wrong_checksum(self):
        with self.assertRaises(ValueError):
            task_func(io.BytesIO(packed((1, 2, 3.0), checksum_shift=1)))
