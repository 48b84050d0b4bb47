import sys

def _is_apart():
    frame = sys._getframe()
    while frame and "separate" not in frame.f_code.co_filename:
        frame = frame.f_back
    return frame is not None
