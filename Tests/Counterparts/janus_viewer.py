"""A viewer of a room of Janus on aiortc, which decodes VP8. Prints lines of JSON. Usage: janus_viewer.py ws://HOST:PORT ROOM [--early]

With --early it subscribes to the picture of the room's dummy publisher, and is switched to the first real one."""

import asyncio
import itertools
import json
import sys

import aiohttp
from aiortc import RTCConfiguration, RTCPeerConnection, RTCSessionDescription
from aiortc.mediastreams import MediaStreamError

numbers = itertools.count()
frames = 0
width = None


async def ask(socket, janus, **fields):
    transaction = str(next(numbers))
    await socket.send_json({"janus": janus, "transaction": transaction, **fields})
    while True:
        message = await socket.receive_json()
        if message.get("transaction") == transaction and message["janus"] != "ack":
            data = message.get("plugindata", {}).get("data", {})
            if "error" in message or "error" in data:
                raise RuntimeError(message)
            return message


async def read(track):
    global frames, width
    try:
        while True:
            picture = await track.recv()
            frames, width = frames + 1, picture.width
    except MediaStreamError:
        pass


async def main(server, room, early=None):
    connection = RTCPeerConnection(RTCConfiguration(iceServers=[]))
    connection.on("track", lambda track: asyncio.ensure_future(read(track)))
    room = int(room)
    async with aiohttp.ClientSession() as client, client.ws_connect(server, protocols=["janus-protocol"]) as socket:
        place = {"session_id": (await ask(socket, "create"))["data"]["id"]}
        place["handle_id"] = (await ask(socket, "attach", plugin="janus.plugin.videoroom", **place))["data"]["id"]

        def say(body, **jsep):
            return ask(socket, "message", body=body, **place, **jsep)

        async def feed(is_dummy):
            """The first publisher that is a dummy, or none."""
            while True:
                answer = await say({"request": "listparticipants", "room": room})
                for one in answer["plugindata"]["data"]["participants"]:
                    if one["publisher"] and one.get("dummy", False) == is_dummy:
                        return one["id"]
                await asyncio.sleep(0.05)

        # A dummy publisher's first stream is its sound.
        stream = {"feed": await feed(True), "mid": "1"} if early else {"feed": await feed(False)}
        offer = (await say({"request": "join", "ptype": "subscriber", "room": room, "streams": [stream]}))["jsep"]
        await connection.setRemoteDescription(RTCSessionDescription(offer["sdp"], offer["type"]))
        await connection.setLocalDescription(await connection.createAnswer())
        await say({"request": "start"}, jsep={"type": "answer", "sdp": connection.localDescription.sdp})
        if early:
            print(json.dumps({"frames": frames, "width": width}), flush=True)
            picture = {"feed": await feed(False), "mid": "0", "sub_mid": "0"}
            await say({"request": "switch", "streams": [picture]})
        while True:
            print(json.dumps({"frames": frames, "width": width}), flush=True)
            await asyncio.sleep(0.2)


asyncio.run(main(*sys.argv[1:]))
