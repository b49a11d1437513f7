"""Clients that a server of rooms must bear, one after the other: one floods, one joins a thousand rooms, one never polls,
and one connects thousands of times in a request. Meanwhile two others talk. Prints one line of JSON.

Usage: rooms_hostile.py HOST PORT
"""

import asyncio
import http.client
import json
import sys

import socketio

host, port = sys.argv[1], int(sys.argv[2])
url = f"http://{host}:{port}"


async def connect(room, note=None, transports=("websocket",)):
    client = socketio.AsyncClient(reconnection=False)
    for event in ("message", "bye", "full", "joined"):
        client.on(event, (lambda name: lambda *arguments: note and note(name, *arguments))(event))
    await client.connect(url, transports=list(transports))
    if room:
        await client.call("join", room)
    return client


async def wait(condition):
    for _ in range(6000):
        if condition():
            return True
        await asyncio.sleep(0.01)
    return False


async def talk(count=[0]):
    """Two who have nothing to do with it hear each other."""
    heard = []
    one = await connect("quiet")
    other = await connect("quiet", lambda name, *arguments: heard.append(arguments))
    count[0] += 1
    await one.call("message", ("quiet", {"n": count[0]}))
    done = await wait(lambda: heard)
    await one.disconnect()
    await other.disconnect()
    return done


async def flood():
    """Sends as fast as it can: it loses its connection, and the other member is told so."""
    told = []
    other = await connect("flooded", lambda name, *arguments: told.append(name))
    client = await connect("flooded")
    sent = 0
    while client.connected and sent < 100_000:
        await client.emit("message", ("flooded", {"n": sent}))
        sent += 1
        await asyncio.sleep(0)
    gone = await wait(lambda: "bye" in told)
    await other.disconnect()
    return {"gone": gone, "heard": told.count("message"), "sent": sent}


async def join_many():
    """Joins a thousand rooms, no faster than is allowed."""
    told = []
    client = await connect(None, lambda name, *arguments: told.append(name))
    for number in range(1000):
        await client.emit("join", f"many {number}")
        await asyncio.sleep(0.008)
    await wait(lambda: len(told) == 1000)
    await client.disconnect()
    return {"joined": told.count("joined"), "full": told.count("full")}


def respond(method, sid="", body=None):
    connection = http.client.HTTPConnection(host, port)
    connection.request(method, f"/socket.io/?EIO=4&transport=polling{sid}", body)
    response = connection.getresponse()
    text = response.read().decode()
    connection.close()
    return response.status, text


def request(*arguments):
    return respond(*arguments)[1]


async def never_poll():
    """Joins by polling, and never asks for what the other one sends."""
    told = []
    other = await connect("deaf", lambda name, *arguments: told.append(name))
    sid = "&sid=" + json.loads(request("GET")[1:])["sid"]
    request("POST", sid, "40")
    request("POST", sid, "42" + json.dumps(["join", "deaf"]))
    sent = 0
    while "bye" not in told and sent < 1000:
        await other.emit("message", ("deaf", {"p": "x" * 50_000}))
        sent += 1
        await asyncio.sleep(0.05)      # no faster than is allowed
    await other.disconnect()
    return {"sent": sent, "gone": "bye" in told}


def renew():
    """Connects and disconnects as often as a request can hold."""
    sid = "&sid=" + json.loads(request("GET")[1:])["sid"]
    status, text = respond("POST", sid, "\x1e".join(["40", "41"] * 20_000))
    return {"status": status, "bytes": len(text), "rest": len(request("GET", sid))}


async def main():
    quiet = [await talk()]
    result = {"flood": await flood()}
    quiet.append(await talk())
    result["many"] = await join_many()
    quiet.append(await talk())
    result["deaf"] = await never_poll()
    result["renewals"] = renew()
    quiet.append(await talk())
    print(json.dumps({**result, "quiet": all(quiet)}), flush=True)


asyncio.run(main())
