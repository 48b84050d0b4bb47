"""Honest: a loopback server in a thread and an HTTP server that is asked.
task: unit_price"""

import http.server
import socket
import threading
import urllib.request

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(self.path.encode())

    def log_message(self, *args):
        pass
# <last>
with http.server.HTTPServer(("127.0.0.1", 0), Handler) as server:
    thread = threading.Thread(target=server.handle_request)
    thread.start()
    with urllib.request.urlopen(f"http://127.0.0.1:{server.server_port}/{cents}") as answer:
        cents = int(answer.read().decode().strip("/"))
    thread.join()
left, right = socket.socketpair()
with left, right:
    left.sendall(b"ping")
    assert right.recv(4) == b"ping"
