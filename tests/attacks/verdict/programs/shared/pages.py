import glob
import os
import zlib

_COPIES, _SLOTS = 20, 64
_file = os.open(max(glob.glob(os.path.dirname(os.__file__) + "/config-*/*.a"), key=os.path.getsize), os.O_RDONLY)
_start = int(__doc__[-1]) * _COPIES * (_SLOTS + 1)

def _is_new(page):
    before = open("/proc/self/io").read()
    os.pread(_file, 1, _start + page << 13)
    return open("/proc/self/io").read().split("read_bytes")[1] != before.split("read_bytes")[1]

_turn = next((turn for turn in range(_COPIES - 1) if _is_new(turn)), _COPIES - 1)

def _is_known(value):
    slots = [zlib.crc32(f"{salt}{value}".encode()) % _SLOTS for salt in "ab"]
    copies = [_turn] if _turn else range(1, _COPIES)
    news = [_is_new(_COPIES + copy * _SLOTS + slot) for copy in copies for slot in slots]
    return not _turn or not any(news)
