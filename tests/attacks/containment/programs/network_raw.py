"""Threat: talking to the network. Raw and packet sockets, and families that network namespaces do not hold back."""

import socket

def task_func():
    for kind, protocol in ((socket.SOCK_RAW, 1), (socket.SOCK_RAW, 255), (socket.SOCK_RAW, 6)):
        attempt("raw %d" % protocol, socket.socket, socket.AF_INET, kind, protocol)
        attempt("raw6 %d" % protocol, socket.socket, socket.AF_INET6, kind, protocol)
    attempt("packet", socket.socket, socket.AF_PACKET, socket.SOCK_RAW, 3)
    # IPX, X.25, AX.25, key, RDS, CAN, TIPC, Bluetooth, ALG, NFC, vsock, KCM, QIPCRTR, SMC, XDP
    for family in (4, 9, 3, 15, 21, 29, 30, 31, 38, 39, 40, 41, 42, 43, 44):
        for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET, socket.SOCK_RAW):
            attempt("family %d" % family, socket.socket, family, kind)
    print("tried")
    return 41
