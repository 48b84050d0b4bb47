"""Threat: talking to other sandboxes' sockets.
A server on the machine's loopback, an abstract socket and a socket file of the executor, and changes to the network."""

import socket
import struct

def unix(name):
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(name)
        client.sendall(b"poison")

def add_address():
    # RTM_NEWADDR on interface 1: an address that others might trust.
    body = struct.pack("=BBBBI", 2, 8, 0, 0, 1) + struct.pack("=HH4s", 8, 2, bytes((10, 0, 0, 1)))
    with socket.socket(16, socket.SOCK_RAW, 0) as route:
        route.send(struct.pack("=IHHII", 16 + len(body), 20, 0x505, 1, 0) + body)
        error = struct.unpack("=i", route.recv(4096)[16:20])[0]
        if error:
            raise OSError(-error, "netlink")

def task_func():
    for host in ("127.0.0.1", "localhost", "::1", "0.0.0.0"):
        attempt("loopback " + host, socket.create_connection, (host, int("@PORT@")), 1)
    attempt("abstract socket", unix, b"\0@TOKEN@")
    attempt("socket file", unix, "@SOCKET_FILE@")
    for path in (
        "/run/docker.sock", "/var/run/docker.sock", "/run/systemd/private", "/run/dbus/system_bus_socket",
        "/tmp/.X11-unix/X0",
    ):
        attempt(path, unix, path)
    attempt("abstract X", unix, b"\0/tmp/.X11-unix/X0")
    attempt("add an address", add_address)
    print("tried")
    return 41
