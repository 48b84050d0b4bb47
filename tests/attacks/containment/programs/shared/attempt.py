import ctypes

libc = ctypes.CDLL(None, use_errno=True)

def attempt(what, action, *arguments):
    try:
        action(*arguments)
    except (OSError, ValueError):
        return
    print("BREACH:", what)

def call(name, *arguments):
    result = getattr(libc, name)(*arguments)
    if result == -1:
        raise OSError(ctypes.get_errno(), name)
    return result

def put(path):
    with open(path, "a") as file:
        file.write("raise SystemExit(0)\n")
