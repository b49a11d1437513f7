"""A seeded walk of clients of python-socketio through the rooms of a server, beside a model of what each must be told. Each event
is acknowledged before the next.

Usage: rooms_walk.py URL SEED STEPS. It prints one line of JSON: how many events came, and the first that was wrong.
"""

import asyncio
import json
import random
import sys

import socketio

EVENTS = ["joined", "leaved", "full", "otherjoin", "bye", "message"]
TRANSPORTS = [["websocket"], ["polling"], ["polling", "websocket"]]
ROOMS = ["a", "b", "c"]
CAPACITY = 2


class Member:
    """One client, what it was told, and what it should have been."""

    def __init__(self, name, transports):
        self.name, self.transports = name, transports
        self.client = None
        self.told, self.due = [], []

    async def connect(self, url):
        self.client = socketio.AsyncClient(reconnection=False)
        for event in EVENTS:
            self.client.on(event, self.handler(self.client, event))
        await self.client.connect(url, transports=self.transports, wait_timeout=10)

    def handler(self, client, event):
        def note(*arguments):
            if client is self.client:
                self.told.append((event, *arguments))

        return note

    async def disconnect(self):
        client, self.client = self.client, None
        await client.disconnect()

    @property
    def id(self):
        return self.client.get_sid()


class Walk:
    def __init__(self, url, seed):
        self.url = url
        self.random = random.Random(seed)
        self.members = [Member(f"m{number}", TRANSPORTS[number % 3]) for number in range(9)]
        self.rooms = {room: [] for room in ROOMS}
        self.count = 0

    def others(self, room, member):
        return [other for other in self.rooms[room] if other is not member]

    def give_up(self, member, room):
        identity = member.id
        for other in self.others(room, member):
            other.due.append(("bye", room, identity))
        self.rooms[room].remove(member)

    async def step(self, number):
        member, room = self.random.choice(self.members), self.random.choice(ROOMS)
        kind = self.random.choices(["join", "leave", "message", "cut"], [3, 2, 10, 0.3])[0]
        if member.client is None:
            await member.connect(self.url)
            return
        if kind == "message" and self.random.random() < 0.9 and self.rooms[room]:
            member = self.random.choice(self.rooms[room])
        seated = member in self.rooms[room]
        if kind == "join":
            if seated:
                member.due.append(("joined", room, member.id))
            elif len(self.rooms[room]) >= CAPACITY:
                member.due.append(("full", room, member.id))
            else:
                member.due.append(("joined", room, member.id))
                for other in self.others(room, member):
                    other.due.append(("otherjoin", room, member.id))
                self.rooms[room].append(member)
            await member.client.call("join", room)
        elif kind == "leave":
            if seated:
                member.due.append(("leaved", room, member.id))
                self.give_up(member, room)
            await member.client.call("leave", room)
        elif kind == "message":
            data = self.random.choice([
                {"type": "offer", "sdp": "v=0\r\n" * self.random.randrange(200)}, {"n": number, "x": 0.1, "e": "é😀"},
                [number, None, True], bytes([number % 256, 0, 255]), {"a": b"\x00", "b": [b"\x01\x02", "c"]}, "text", number,
            ])
            if seated:
                for other in self.others(room, member):
                    other.due.append(("message", room, data))
            await member.client.call("message", (room, data))
        else:
            for room in ROOMS:
                if member in self.rooms[room]:
                    self.give_up(member, room)
            member.due, member.told = [], []
            await member.disconnect()
            # Nothing tells when the server knows.
            await asyncio.sleep(0.02)

    async def settle(self):
        """Waits until all were told what was due, and compares."""
        for _ in range(2000):
            if all(len(member.told) >= len(member.due) for member in self.members):
                break
            await asyncio.sleep(0.005)
        for member in self.members:
            if member.told != member.due:
                return f"{member.name} was told {member.told[:5]} and not {member.due[:5]}"
            self.count += len(member.told)
            member.told, member.due = [], []
        return None

    async def run(self, steps):
        for number in range(steps):
            await self.step(number)
            wrong = await self.settle()
            if wrong:
                return f"step {number}: {wrong}"
        return None


async def main():
    url, seed, steps = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    walk = Walk(url, seed)
    wrong = await walk.run(steps)
    for member in walk.members:
        if member.client:
            await member.disconnect()
    print(json.dumps({"events": walk.count, "wrong": wrong}))


asyncio.run(main())
