"""A member of a one-to-one room: python-socketio, and libwebrtc by way of the Python package wrtc. It watches, and prints a line of
JSON five times a second. Usage: rooms_member.py URL ROOM TRANSPORT..."""

import asyncio
import json
import sys

import socketio
import webrtc

client = socketio.AsyncClient(reconnection=False)
url, room, *transports = sys.argv[1:]
connection = None


async def describe(kind, description):
    await connection.set_local_description(description)
    for _ in range(100):
        if connection.ice_gathering_state.value == "complete":
            break
        await asyncio.sleep(0.05)
    await client.emit("message", (room, {"type": kind, "sdp": connection.local_description.sdp}))


def begin():
    global connection
    if connection:
        connection.close()
    connection = webrtc.RTCPeerConnection(webrtc.RTCConfiguration())


@client.on("joined")
async def joined(room, _):
    print(json.dumps({"frames": 0, "joined": True}), flush=True)


@client.on("otherjoin")
async def other_joined(room, _):
    begin()
    connection.add_transceiver("video", webrtc.RTCRtpTransceiverInit(direction="recvonly"))
    await describe("offer", await connection.create_offer())


@client.on("bye")
async def bye(room, _):
    global connection
    if connection:
        connection.close()
    connection = None


@client.on("message")
async def message(room, data):
    if data["type"] == "offer":
        begin()
        await connection.set_remote_description(webrtc.RTCSessionDescriptionInit(type="offer", sdp=data["sdp"]))
        await describe("answer", await connection.create_answer())
    elif data["type"] == "answer":
        await connection.set_remote_description(webrtc.RTCSessionDescriptionInit(type="answer", sdp=data["sdp"]))


async def main():
    await client.connect(url, transports=transports)
    await client.emit("join", room)
    while True:
        frames = 0
        if connection:
            try:
                stats = await asyncio.wait_for(connection.get_stats(), 5)
            except Exception:  # it was closed meanwhile
                stats = {}
            for entry in stats.values():
                if entry.type.value == "inbound-rtp" and entry.kind == "video":
                    frames = entry.frames_decoded or 0
        print(json.dumps({"frames": frames, "joined": False}), flush=True)
        await asyncio.sleep(0.2)


asyncio.run(main())
