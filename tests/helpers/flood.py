#!/usr/bin/env python3
"""An HTTPS server that answers each request over HTTP/2 with 200 and empty DATA frames without an end. A client that
speaks HTTP/1.1 gets "hello".

flood.py CERT KEY: listens on a port of 127.0.0.1, and prints "listening on URL"."""
# SPDX-License-Identifier: LGPL-2.1-or-later
import socket
import ssl
import sys
import threading

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, SETTINGS = 0, 1, 4


def frame(kind, flags, stream, payload=b""):
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload


def read(connection, size):
    got = b""
    while len(got) < size:
        more = connection.recv(size - len(got))
        if not more:
            raise EOFError
        got += more
    return got


def serve(connection, context):
    try:
        connection = context.wrap_socket(connection, server_side=True)
        if connection.selected_alpn_protocol() != "h2":
            connection.recv(65536)
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\nConnection: close\r\n\r\nhello\n")
            connection.close()
            return
        read(connection, len(PREFACE))
        connection.sendall(frame(SETTINGS, 0, 0) + frame(SETTINGS, 1, 0))
        while True:
            head = read(connection, 9)
            read(connection, int.from_bytes(head[:3], "big"))
            if head[3] == HEADERS:
                break
        stream = int.from_bytes(head[5:], "big")
        connection.sendall(frame(HEADERS, 4, stream, b"\x88"))  # the end of the headers; ":status: 200"
        flood = frame(DATA, 0, stream) * 100000
        while True:
            connection.sendall(flood)
    except (OSError, EOFError):
        pass


context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(sys.argv[1], sys.argv[2])
context.set_alpn_protocols(["h2", "http/1.1"])
listener = socket.create_server(("127.0.0.1", 0))
print("listening on https://127.0.0.1:%d" % listener.getsockname()[1], flush=True)
while True:
    threading.Thread(target=serve, args=(listener.accept()[0], context), daemon=True).start()
