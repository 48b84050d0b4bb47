"""vLLM's server without a model: the options, the process beside it, the routes and the refusals of the real one.

The model's name says what it does: ``slow`` takes a second to load, ``oom`` fails while it loads, ``dies`` ends after
its first answers.
"""

# ruff: noqa: T201 (servers print)

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock

_ANSWERS = 2


def _options():
    parser = argparse.ArgumentParser(prog="vllm serve")
    for name in ("model", "served-model-name", "host", "dtype", "revision", "tokenizer"):
        parser.add_argument(f"--{name}")
    for name in ("port", "tensor-parallel-size", "max-model-len", "max-num-seqs"):
        parser.add_argument(f"--{name}", type=int)
    parser.add_argument("--gpu-memory-utilization", type=float)
    parser.add_argument("--trust-remote-code", action="store_true")
    return parser.parse_args()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    options = None
    answered = 0
    lock = Lock()

    def do_GET(self):
        self._send(200 if self.path == "/health" else 404, {})

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if self.headers.get("authorization") != f"Bearer {os.environ['VLLM_API_KEY']}":
            self._send(401, {"error": "Unauthorized"})
        elif self.path != "/v1/chat/completions" or body["model"] != self.options.served_model_name:
            error = {"message": f"The model `{body['model']}` does not exist.", "type": "NotFoundError", "code": 404}
            self._send(404, {"error": error})
        else:
            with self.lock:
                type(self).answered += 1
            if "dies" in self.options.model and self.answered > _ANSWERS:
                print("RuntimeError: CUDA error: an illegal memory access was encountered", flush=True)
                os._exit(1)
            print("INFO: POST /v1/chat/completions 200 OK", flush=True)
            text = f"tp {self.options.tensor_parallel_size}, engine {ENGINE.pid}, home {sorted(os.environ)}"
            choices = [
                {"index": index, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
                for index in range(body.get("n") or 1)
            ]
            usage = {"prompt_tokens": 5, "completion_tokens": 7, "total_tokens": 12}
            self._send(200, {"id": "chatcmpl-1", "model": body["model"], "choices": choices, "usage": usage})

    def _send(self, status, data):
        body = json.dumps(data).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    options = _options()
    print(f"INFO: vLLM API server, args: {sys.argv[1:]}", flush=True)
    #: The engine's own process, which holds the GPU: it does not end with the server by itself.
    ENGINE = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    if "slow" in options.model:
        time.sleep(1)
    if "oom" in options.model:
        print("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 GiB", flush=True)
        print("INFO: shutting down", flush=True)
        sys.exit(1)
    _Handler.options = options
    server = ThreadingHTTPServer((options.host, options.port), _Handler)
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    server.serve_forever()
