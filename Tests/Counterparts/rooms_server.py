"""A server of one-to-one rooms on python-socketio. Usage: rooms_server.py PORT TRANSPORT..."""

import sys

import socketio
from aiohttp import web

server = socketio.AsyncServer(async_mode="aiohttp", cors_allowed_origins="*", transports=sys.argv[2:])
members = {}    # the connections in a room, in order


@server.event
async def join(sid, room):
    there = members.setdefault(room, [])
    if len(there) > 1:
        return await server.emit("full", (room, sid), to=sid)
    there.append(sid)
    await server.emit("joined", (room, sid), to=sid)
    for other in there[:-1]:
        await server.emit("otherjoin", (room, sid), to=other)


@server.event
async def leave(sid, room):
    await server.emit("leaved", (room, sid), to=sid)
    await part(sid, room)


@server.event
async def message(sid, room, data):
    for other in members.get(room, []):
        if other != sid:
            await server.emit("message", (room, data), to=other)


@server.event
async def disconnect(sid, reason=None):
    for room in list(members):
        await part(sid, room)


async def part(sid, room):
    if sid in members.get(room, []):
        members[room].remove(sid)
        for other in members[room]:
            await server.emit("bye", (room, sid), to=other)


async def tell(app):
    print("listening", flush=True)


app = web.Application()
app.on_startup.append(tell)
server.attach(app)
web.run_app(app, host="0.0.0.0", port=int(sys.argv[1]), print=None)
