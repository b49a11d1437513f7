"""Attacks on "oriel attach web" and "oriel rooms", each from one address. Says "ready", waits for a line or the end of its standard
input, attacks for some seconds, and prints one line of JSON: what was sent, in the attack's own unit, and after how many seconds the
server refused something for the first time, null if it never did. A refusal is a status that the server does not give to everybody
who asks so, a connection that it ends, or one from which it takes nothing for a second.

Usage: attacks.py NAME HOST PORT [TOKEN] [--seconds SECONDS] [--from ADDRESS]
"""

import argparse
import asyncio
import json
import os
import sys
import time

from stranger import OFFER, PING, Requests, Server, WebSocket, frame, offer, text

POLLING = "/socket.io/?EIO=4&transport=polling"


class Attack:
    def __init__(self, server):
        self.server = server
        self.sent = 0
        self.refused_after = None
        self.began = time.monotonic()

    def refused(self):
        if self.refused_after is None:
            self.refused_after = round(time.monotonic() - self.began, 2)

    async def request(self, requests, expected, *arguments):
        """Sends a request, and returns the body of the answer; None for a refusal."""
        status, _, body = await requests.send(*arguments)
        self.sent += 1
        if status == expected:
            return body
        self.refused()

    async def write(self, socket, frames):
        """Waits for as long as the server takes nothing."""
        socket.writer.write(frames)
        try:
            async with asyncio.timeout(1):
                await socket.writer.drain()
        except TimeoutError:
            self.refused()
            await socket.writer.drain()

    async def at_once(self, count, work):
        """So many tasks, each of which does its work, given its number, again and again."""

        async def again(number):
            while True:
                try:
                    await work(number)
                except (OSError, EOFError):
                    self.refused()
                    await asyncio.sleep(0.01)

        await asyncio.gather(*(again(number) for number in range(count)))

    # A broadcast.

    async def never_connect(self):
        """Viewers that are let in, and of whom nothing is heard any more."""

        async def work(_):
            requests = Requests(self.server)
            while True:
                await self.request(requests, 201, "POST", "/whep", offer(self.server.source or "127.0.0.1"), OFFER)

        await self.at_once(50, work)

    async def large_offers(self):
        async def work(_):
            await self.request(Requests(self.server), 400, "POST", "/whep", b"x" * 200_000, OFFER)

        await self.at_once(8, work)

    async def slow_headers(self):
        """Requests whose head has no end."""

        async def work(_):
            reader, writer = await self.server.connect()
            self.sent += 1
            try:
                writer.write(f"GET / HTTP/1.1\r\n{self.server.head}X-Slow: ".encode())
                while not reader.at_eof():
                    writer.write(b"x")
                    await writer.drain()
                    await asyncio.sleep(0.1)
                raise EOFError
            finally:
                writer.transport.abort()

        await self.at_once(300, work)

    async def garbage(self):
        """Knocks with something that is no offer."""

        async def work(_):
            requests = Requests(self.server)
            while True:
                await self.request(requests, 400, "POST", "/whep", b"v=0\r\n" + os.urandom(500).hex().encode(), OFFER)

        await self.at_once(8, work)

    # A server of rooms.

    async def member(self, room, payload="", **options):
        socket = await WebSocket.open(self.server, **options)
        try:
            await socket.connect(payload)
            await socket.write(text("42" + json.dumps(["join", room])))
            await socket.expect('42["joined"')
        except BaseException:
            socket.close()
            raise
        return socket

    async def pings(self):
        """One that never reads the pongs."""
        pings = frame(PING, bytes(125)) * 500

        async def work(_):
            socket = await WebSocket.open(self.server, receive_buffer=4096)
            socket.stop_reading()
            try:
                while True:
                    await self.write(socket, pings)
                    self.sent += 500
            finally:
                socket.close()

        await self.at_once(1, work)

    async def renewals(self):
        """Leaves the namespace and comes back before its credit of messages is used up."""
        join = text("42" + json.dumps(["join", "renewals"]))
        message = text("42" + json.dumps(["message", "renewals", {"n": 0}]))
        batch = text("41") + text("40") + join + message * 450

        async def listen(_):
            socket = await self.member("renewals")
            try:
                await socket.read_all()
            finally:
                socket.close()

        async def talk(_):
            socket = await self.member("renewals")
            reading = asyncio.create_task(socket.read_all())
            try:
                while not reading.done():
                    await self.write(socket, batch)
                    self.sent += 450
                raise EOFError
            finally:
                reading.cancel()
                await asyncio.gather(reading, return_exceptions=True)
                socket.close()

        await asyncio.gather(self.at_once(1, listen), self.at_once(1, talk))

    async def handshakes(self):
        """Sessions that are opened on one connection, and never used."""

        async def work(_):
            requests = Requests(self.server)
            while True:
                await self.request(requests, 200, "GET", POLLING)

        await self.at_once(1, work)

    async def connects(self):
        """Bodies that connect to the namespace and leave it, thousands of times each."""
        body = b"\x1e".join([b"40", b"41"] * 16_000)

        async def work(_):
            requests = Requests(self.server)
            opened = await self.request(requests, 200, "GET", POLLING)
            if opened is None:
                return
            session = f"{POLLING}&sid={json.loads(opened[1:])['sid']}"
            while True:
                for arguments in [("POST", session, body), ("GET", session)]:
                    if await self.request(requests, 200, *arguments) is None:
                        return requests.close()

        await self.at_once(5, work)

    async def tokens(self):
        """Members who say at length who they are."""

        async def work(number):
            token = f"{number} " + "x" * 95_000
            socket = await self.member(f"token {number}", json.dumps({"token": token}))
            self.sent += 1
            try:
                await socket.read_all()
            finally:
                socket.close()

        await self.at_once(400, work)

    async def deaf(self):
        """A hundred pairs, in each of which one speaks and the other one never reads."""

        async def listen(room):
            socket = await self.member(f"deaf {room}", receive_buffer=4096)
            socket.stop_reading()
            try:
                while True:
                    # Nothing is read, so only what is written tells that the server has closed the connection.
                    await asyncio.sleep(0.5)
                    await self.write(socket, text("3"))
            finally:
                socket.close()

        async def talk(room):
            socket = await self.member(f"deaf {room}")
            message = text("42" + json.dumps(["message", f"deaf {room}", {"p": "x" * 20_000}]))
            reading = asyncio.create_task(socket.read_all())
            try:
                while not reading.done():
                    await self.write(socket, message)
                    self.sent += 1
                    await asyncio.sleep(0.05)
                raise EOFError
            finally:
                reading.cancel()
                await asyncio.gather(reading, return_exceptions=True)
                socket.close()

        await asyncio.gather(self.at_once(100, listen), self.at_once(100, talk))


ATTACKS = {
    "never-connect": Attack.never_connect, "large-offers": Attack.large_offers, "slow-headers": Attack.slow_headers,
    "garbage": Attack.garbage, "pings": Attack.pings, "renewals": Attack.renewals, "handshakes": Attack.handshakes,
    "connects": Attack.connects, "tokens": Attack.tokens, "deaf": Attack.deaf,
}  # fmt: skip


async def main(work, server, seconds):
    attack = Attack(server)
    try:
        async with asyncio.timeout(seconds):
            await work(attack)
    except TimeoutError:
        pass
    print(json.dumps({"sent": attack.sent, "refused_after": attack.refused_after}), flush=True)


def parse():
    parser = argparse.ArgumentParser(description="Attacks of one network.")
    parser.add_argument("name", choices=ATTACKS)
    parser.add_argument("host")
    parser.add_argument("port", type=int)
    parser.add_argument("token", nargs="?", default="")
    parser.add_argument("--seconds", type=float, default=6)
    parser.add_argument("--from", dest="source", metavar="ADDRESS", default="", help="the address that all comes from")
    arguments = parser.parse_args()
    server = Server(arguments.host, arguments.port, arguments.token, arguments.source)
    return ATTACKS[arguments.name], server, arguments.seconds


if __name__ == "__main__":
    work, server, seconds = parse()
    print("ready", flush=True)
    sys.stdin.readline()
    asyncio.run(main(work, server, seconds))
