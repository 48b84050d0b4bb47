"""A host that executes nothing: it answers at once, sleeps, or dies, as an item's program says; for tests of links.

Programs: ``sleep SECONDS``; ``die``, which ends the host; any other is answered at once. An outcome's stdout is the
program, and its stderr says how often this host was given the item.
"""

import json
import sys
import threading
import time
from collections import Counter

SHA = "f" * 64
_SAYING = threading.Lock()


def say(message: dict) -> None:
    with _SAYING:
        sys.stdout.write(json.dumps(message) + "\n")
        sys.stdout.flush()


def execute(message: dict, times: int) -> None:
    program = message["item"]["program"]
    if program.startswith("sleep"):
        time.sleep(float(program.split()[1]))
    outcome = {"exit": "exit 0", "stdout": program, "stderr": str(times), "frames": [{"event": "started"}]}
    say({"type": "outcome", "number": message["number"], "outcome": outcome})


def main() -> int:
    name = sys.argv[sys.argv.index("--environment") + 1]
    environment = {"name": name, "environment_sha": SHA, "missing_data": [], "lock_sha256": "e" * 64}
    capabilities = {"isolated": True, "layers": ["none"], "warm": True}
    given: Counter[str] = Counter()
    for line in sys.stdin:
        message = json.loads(line)
        match message["type"]:
            case "begin" if name == "unknown":
                say({"type": "refused", "message": "sandbox environment 'unknown' is not built on this machine"})
                return 1
            case "begin":
                info = {"code_version": "any", "environment": environment, "capabilities": capabilities}
                say({"type": "ready", "cores": 1, "slots": 8} | info)
            case "prepare":
                starts = [{"preload": ["x"], "zygote": []}] * len(message["programs"])
                say({"type": "prepared", "number": message["number"], "starts": starts})
            case "item" if message["item"]["program"] == "die":
                sys.stderr.write("MemoryError: no more\n")
                return 3
            case "item":
                given[message["item"]["key"]] += 1
                times = given[message["item"]["key"]]
                threading.Thread(target=execute, args=(message, times), daemon=True).start()
    return 0


if __name__ == "__main__":
    sys.exit(main())
