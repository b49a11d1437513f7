"""Pairs of clients in rooms of their own, each sending messages at a steady rate, over WebSockets. Prints one line of JSON.

Usage: rooms_load.py HOST PORT ROOMS SECONDS
"""

import asyncio
import base64
import json
import os
import struct
import sys
import time

PADDING = "x" * 950


def masked(text):
    """A text frame of a client (RFC 6455 §5.2)."""
    payload = text.encode()
    key = os.urandom(4)
    size = len(payload)
    head = bytes([0x81, 0x80 | size]) if size < 126 else bytes([0x81, 0xFE]) + struct.pack(">H", size)
    repeated = (key * (size // 4 + 1))[:size]
    bits = int.from_bytes(payload, "big") ^ int.from_bytes(repeated, "big")
    return head + key + bits.to_bytes(size, "big")


class Client:
    def __init__(self, room):
        self.room = room
        self.joined = asyncio.Event()
        self.sent = self.received = self.disordered = 0
        self.delays = []

    async def connect(self, host, port):
        self.reader, self.writer = await asyncio.open_connection(host, port)
        key = base64.b64encode(os.urandom(16)).decode()
        self.writer.write(
            f"GET /socket.io/?EIO=4&transport=websocket HTTP/1.1\r\nHost: {host}\r\nUpgrade: websocket\r\n"
            f"Connection: Upgrade\r\nSec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n".encode()
        )
        head = await self.reader.readuntil(b"\r\n\r\n")
        if not head.startswith(b"HTTP/1.1 101"):
            raise RuntimeError(head.decode())
        self.task = asyncio.create_task(self.listen())
        await self.joined.wait()

    def write(self, text):
        self.writer.write(masked(text))

    async def listen(self):
        while True:
            first, second = await self.reader.readexactly(2)
            size = second & 0x7F
            if size == 126:
                size, = struct.unpack(">H", await self.reader.readexactly(2))
            text = (await self.reader.readexactly(size)).decode()
            if first & 0x0F != 1:
                return
            if text[0] == "0":
                self.write("40")
            elif text[0] == "2":
                self.write("3")
            elif text.startswith("40"):
                self.write("42" + json.dumps(["join", self.room]))
            elif text.startswith("42"):
                self.hear(json.loads(text[2:]))

    def hear(self, event):
        if event[0] == "joined":
            self.joined.set()
        elif event[0] == "message":
            number, at = event[2]["n"], event[2]["t"]
            self.disordered += number != self.received
            self.received = number + 1
            self.delays.append(time.monotonic() - at)

    def send(self):
        message = {"n": self.sent, "t": time.monotonic(), "p": PADDING}
        self.write("42" + json.dumps(["message", self.room, message]))
        self.sent += 1


async def main(host, port, rooms, seconds):
    clients = [Client(f"room {index // 2}") for index in range(2 * rooms)]
    for start in range(0, len(clients), 100):
        await asyncio.gather(*(client.connect(host, port) for client in clients[start:start + 100]))
    print(json.dumps({"joined": len(clients)}), flush=True)
    begin = time.monotonic()
    for step in range(seconds * len(clients)):
        await asyncio.sleep(max(0, begin + step / len(clients) - time.monotonic()))
        clients[step % len(clients)].send()
    await asyncio.sleep(1)
    delays = sorted(delay for client in clients for delay in client.delays)
    lost = sum(clients[index].sent - clients[index ^ 1].received for index in range(len(clients)))
    print(json.dumps({
        "sent": sum(client.sent for client in clients), "lost": lost,
        "disordered": sum(client.disordered for client in clients),
        "p50_ms": delays[len(delays) // 2] * 1000, "p99_ms": delays[len(delays) * 99 // 100] * 1000,
    }), flush=True)


asyncio.run(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])))
