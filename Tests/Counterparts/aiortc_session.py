"""A session on aiortc that receives two videos and a sound, in either role. Usage: aiortc_session.py offer|answer SECONDS

Descriptions are lines of JSON, {"sdp": ...}, on standard output and input. At the end, when every track has brought
thirty frames or the time is up, one more line tells of each what came: mid, kind, frames, packets and packets lost. Before
that, a message of 100 bytes goes out inside of DTLS.
"""

import asyncio
import json
import sys
import time

from aiortc import RTCConfiguration, RTCPeerConnection, RTCSessionDescription
from aiortc.mediastreams import MediaStreamError

ENOUGH = 30


def say(**fields):
    print(json.dumps(fields), flush=True)


async def hear():
    return json.loads(await asyncio.to_thread(sys.stdin.readline))["sdp"]


async def main(role, seconds):
    connection = RTCPeerConnection(RTCConfiguration(iceServers=[]))
    counts = {}

    @connection.on("track")
    def read(track):
        counts[track] = 0

        async def count():
            try:
                while True:
                    await track.recv()
                    counts[track] += 1
            except MediaStreamError:
                pass

        asyncio.ensure_future(count())

    if role == "offer":
        for kind in ("video", "video", "audio"):
            connection.addTransceiver(kind, direction="recvonly")
        await connection.setLocalDescription(await connection.createOffer())
        say(sdp=connection.localDescription.sdp)
        await connection.setRemoteDescription(RTCSessionDescription(await hear(), "answer"))
    else:
        await connection.setRemoteDescription(RTCSessionDescription(await hear(), "offer"))
        await connection.setLocalDescription(await connection.createAnswer())
        say(sdp=connection.localDescription.sdp)
    end = time.monotonic() + seconds
    while time.monotonic() < end and (len(counts) < 3 or min(counts.values()) < ENOUGH):
        await asyncio.sleep(0.05)
    # What a data channel would send.
    transport = connection.getTransceivers()[0].receiver.transport
    if transport.state == "connected":
        await transport._send_data(bytes(100))
    tracks = []
    for transceiver in connection.getTransceivers():
        packets = lost = 0
        for stats in (await transceiver.receiver.getStats()).values():
            if stats.type == "inbound-rtp":
                packets += stats.packetsReceived
                lost += stats.packetsLost
        frames = counts.get(transceiver.receiver.track, 0)
        tracks.append(dict(mid=transceiver.mid, kind=transceiver.kind, frames=frames, packets=packets, lost=lost))
    say(tracks=tracks)
    await connection.close()


asyncio.run(main(sys.argv[1], float(sys.argv[2])))
