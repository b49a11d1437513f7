"""HTTP and WebSockets by hand, for programs that do what no client's library would do. The standard library alone."""

import asyncio
import base64
import os
import socket
import struct
from dataclasses import dataclass

TEXT, PING = 1, 9
IP_BIND_ADDRESS_NO_PORT = 24  # Python names it from 3.12 on


@dataclass
class Server:
    host: str
    port: int
    token: str = ""
    source: str = ""
    """The address that connections come from; empty for any."""

    async def connect(self, receive_buffer=None):
        """A reader and a writer. A connection that nobody reads holds little more than its receive buffer, in bytes."""
        end = socket.socket()
        end.setblocking(False)
        if receive_buffer:
            end.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        try:
            if self.source:
                end.setsockopt(socket.IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1)
                end.bind((self.source, 0))
            await asyncio.get_running_loop().sock_connect(end, (self.host, self.port))
            return await asyncio.open_connection(sock=end)
        except BaseException:
            end.close()
            raise

    @property
    def head(self):
        authorization = f"Authorization: Bearer {self.token}\r\n" if self.token else ""
        return f"Host: {self.host}:{self.port}\r\n{authorization}"


class Requests:
    """Requests one after the other, on one connection for as long as the server keeps it."""

    def __init__(self, server):
        self.server = server
        self.writer = None

    async def send(self, method, path, body=b"", headers=None):
        """Returns the status, the headers with names in lower case, and the body. A connection that ends raises OSError or
        EOFError."""
        if not self.writer:
            self.reader, self.writer = await self.server.connect()
        fields = "".join(f"{name}: {value}\r\n" for name, value in (headers or {}).items())
        length = f"Content-Length: {len(body)}\r\n" if body or method == "POST" else ""
        try:
            self.writer.write(f"{method} {path} HTTP/1.1\r\n{self.server.head}{fields}{length}\r\n".encode() + body)
            await self.writer.drain()
            status, fields = await read_head(self.reader)
            text = await self.reader.readexactly(int(fields.get("content-length", 0)))
        except BaseException:
            self.close()
            raise
        if fields.get("connection", "").lower() == "close":
            self.close()
        return status, fields, text

    def close(self):
        if self.writer:
            self.writer.transport.abort()
        self.writer = None


async def read_head(reader):
    lines = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
    fields = dict(line.split(": ", 1) for line in lines[1:] if ": " in line)
    return int(lines[0].split()[1]), {name.lower(): value for name, value in fields.items()}


def frame(opcode, payload):
    """A frame of a client (RFC 6455 §5.2). Its masking key is 0, which leaves the payload as it is."""
    size = len(payload)
    if size < 126:
        length = bytes([0x80 | size])
    elif size < 1 << 16:
        length = b"\xfe" + struct.pack(">H", size)
    else:
        length = b"\xff" + struct.pack(">Q", size)
    return bytes([0x80 | opcode]) + length + bytes(4) + payload


def text(message):
    return frame(TEXT, message.encode())


class WebSocket:
    @classmethod
    async def open(cls, server, path="/socket.io/?EIO=4&transport=websocket", receive_buffer=None):
        self = cls()
        self.reader, self.writer = await server.connect(receive_buffer)
        key = base64.b64encode(os.urandom(16)).decode()
        try:
            self.writer.write(
                f"GET {path} HTTP/1.1\r\n{server.head}Upgrade: websocket\r\nConnection: Upgrade\r\n"
                f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n".encode()
            )
            status, _ = await read_head(self.reader)
            if status != 101:
                raise ConnectionRefusedError(f"the WebSocket is answered with {status}")
        except BaseException:
            self.close()
            raise
        return self

    async def read(self):
        """The text of the next message. A WebSocket that ends raises EOFError."""
        while True:
            first, size = await self.reader.readexactly(2)
            if size == 126:
                size, = struct.unpack(">H", await self.reader.readexactly(2))
            elif size == 127:
                size, = struct.unpack(">Q", await self.reader.readexactly(8))
            payload = await self.reader.readexactly(size)
            if first & 0x0F == TEXT:
                return payload.decode()
            if first & 0x0F == 8:
                raise EOFError

    async def read_all(self):
        """Reads and forgets, and answers the heartbeat of Engine.IO, until the WebSocket ends."""
        while True:
            if await self.read() == "2":
                await self.write(text("3"))

    async def write(self, frames):
        self.writer.write(frames)
        await self.writer.drain()

    def stop_reading(self):
        self.writer.transport.pause_reading()

    async def connect(self, payload=""):
        """Connects to the namespace of Socket.IO."""
        await self.expect("0")
        await self.write(text("40" + payload))
        await self.expect("40")

    async def expect(self, prefix):
        """Reads on to the message that begins so."""
        while not (message := await self.read()).startswith(prefix):
            if message == "2":
                await self.write(text("3"))
        return message

    def close(self):
        self.writer.transport.abort()


def offer(address):
    """The SDP of a viewer of VP8 that waits for ICE at an address where nobody is."""
    name, password = os.urandom(4).hex(), os.urandom(12).hex()
    fingerprint = ":".join(f"{byte:02X}" for byte in os.urandom(32))
    lines = [
        "v=0", "o=- 1 1 IN IP4 127.0.0.1", "s=-", "t=0 0", "a=group:BUNDLE 0", f"a=fingerprint:sha-256 {fingerprint}",
        "m=video 9 UDP/TLS/RTP/SAVPF 96", "c=IN IP4 0.0.0.0", "a=mid:0", "a=recvonly", "a=rtcp-mux", "a=setup:actpass",
        f"a=ice-ufrag:{name}", f"a=ice-pwd:{password}", "a=rtpmap:96 VP8/90000", "a=rtcp-fb:96 nack",
        "a=rtcp-fb:96 nack pli", "a=rtcp-fb:96 ccm fir", f"a=candidate:1 1 udp 2130706431 {address} 9 typ host",
    ]  # fmt: skip
    return "".join(f"{line}\r\n" for line in lines).encode()


OFFER = {"Content-Type": "application/sdp", "Accept": "application/sdp"}
