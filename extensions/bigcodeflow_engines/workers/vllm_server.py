"""Start vLLM's server, and kill the server when the parent process ends or closes this process's standard input."""

import os
import signal
import subprocess
import sys
import threading


def _end_with_the_starter() -> None:
    while os.read(0, 4096):
        pass
    os.killpg(0, signal.SIGKILL)


def main() -> None:
    """Run the server with this program's arguments, and exit with the server's status."""
    os.setpgid(0, 0)  # normally already a separate group; ensures that nothing else is killed
    threading.Thread(target=_end_with_the_starter, daemon=True).start()
    command = [sys.executable, "-s", "-u", "-m", "vllm.entrypoints.openai.api_server", *sys.argv[1:]]
    server = subprocess.Popen(command, stdin=subprocess.DEVNULL)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda received, _frame: server.send_signal(received))
    status = server.wait()
    sys.exit(status if status >= 0 else 128 - status)


if __name__ == "__main__":
    main()
