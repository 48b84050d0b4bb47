"""Honest: a raw stream of its own encodes what a buffered writer hands over, until it is closed.
task: run_lengths"""

import io

class Encoder(io.RawIOBase):
    def __init__(self, out):
        self.out, self.value, self.length = out, None, 0

    def writable(self):
        return True

    def write(self, data):
        for value in bytes(data):
            if value != self.value or self.length == 255:
                self._emit()
                self.value = value
            self.length += 1
        return len(data)

    def _emit(self):
        if self.length:
            self.out.write(bytes([self.length, self.value]))
        self.length = 0

    def close(self):
        if not self.closed:
            self._emit()
        super().close()

def task_func(data):
    out = io.BytesIO()
    with io.BufferedWriter(Encoder(out), buffer_size=16) as stream:
        stream.write(data)
    return out.getvalue()
