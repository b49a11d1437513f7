"""Guesses tokens of "oriel attach web": so many requests, by pipelines from several addresses at once. Says "ready", waits for a line or the end
of its standard input, and prints one line of JSON: the guesses that were made, how many were right, refused as wrong (401), or not looked at
(429), and the seconds that it took.

Usage: guesses.py HOST PORT COUNT ADDRESS…
"""

import asyncio
import json
import re
import secrets
import socket
import sys
import time

AT_ONCE = 50
"""Requests that are sent before the first answer is read."""
MOST_FAILURES = 10_000
"""Connections that end or are refused before the server counts as gone."""
STATUS = re.compile(rb"HTTP/1\.1 (\d\d\d)")


class Guesser:
    def __init__(self, host, port, count):
        self.host, self.port, self.left = host, port, count
        self.statuses = {}
        self.failures = 0

    async def guess(self, address):
        while self.left > 0 and self.failures < MOST_FAILURES:
            end = socket.socket()
            try:
                end.setblocking(False)
                end.bind((address, 0))
                await asyncio.get_running_loop().sock_connect(end, (self.host, self.port))
                reader, writer = await asyncio.open_connection(sock=end)
                while self.left > 0:
                    await self.round(reader, writer)
            except (OSError, EOFError):
                self.failures += 1
                await asyncio.sleep(0.01)
            finally:
                end.close()

    async def round(self, reader, writer):
        count = min(AT_ONCE, self.left)
        self.left -= count
        answered = 0
        try:
            writer.write(b"".join(self.request() for _ in range(count)))
            rest = b""
            while answered < count:
                piece = await reader.read(65536)
                if not piece:
                    raise EOFError
                # A status line may come in two pieces.
                text = rest + piece
                end = 0
                for match in STATUS.finditer(text):
                    self.statuses[int(match[1])] = self.statuses.get(int(match[1]), 0) + 1
                    answered += 1
                    end = match.end()
                rest = text[max(end, len(text) - 11) :]
        finally:
            self.left += count - answered

    def request(self):
        head = f"GET /api/status HTTP/1.1\r\nHost: {self.host}:{self.port}\r\nAuthorization: Bearer {secrets.token_urlsafe(16)}\r\n\r\n"
        return head.encode()


async def main(host, port, count, addresses):
    guesser = Guesser(host, port, count)
    began = time.monotonic()
    await asyncio.gather(*(guesser.guess(address) for address in addresses))
    seen = guesser.statuses
    print(
        json.dumps({
            "guesses": sum(seen.values()), "right": seen.get(200, 0), "wrong": seen.get(401, 0), "unseen": seen.get(429, 0),
            "seconds": round(time.monotonic() - began, 2),
        }),
        flush=True,
    )  # fmt: skip


if __name__ == "__main__":
    host, port, count, *addresses = sys.argv[1:]
    print("ready", flush=True)
    sys.stdin.readline()
    asyncio.run(main(host, int(port), int(count), addresses))
