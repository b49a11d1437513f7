#!/usr/bin/env python3
"""Looks in at a share of Oriel: starts a view for a time, extends it, shows a part of the screen to all, speaks, and stops.

Usage: live_view.py LINK [SECONDS]      LINK as Oriel prints it, with "#" and the token

Needs aiortc, which brings WebRTC: python3 -m venv ENV; ENV/bin/pip install aiortc; ENV/bin/python live_view.py. All else is the standard library of Python 3.9.
"""
import asyncio
import json
import sys
import urllib.error, urllib.parse, urllib.request

from aiortc import RTCConfiguration, RTCPeerConnection, RTCSessionDescription
from aiortc.mediastreams import AudioStreamTrack


class Share:
    """The HTTP interface of a share. Each method is one request of docs/live-view.md."""

    def __init__(self, link):
        self.origin, _, self.token = link.partition("#")

    def request(self, method, path, body=None, kind="application/json", **headers):
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": kind} | headers
        url = urllib.parse.urljoin(self.origin, path)
        request = urllib.request.Request(url, body and body.encode(), headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=40) as response:
                return response.headers, response.read().decode()
        except urllib.error.HTTPError as refusal:
            raise RuntimeError(f"{method} {path}: {refusal.code}, {refusal.read().decode().strip()}") from None
        except OSError as failure:
            raise RuntimeError(f"{method} {path}: {failure}") from None

    def capabilities(self):
        return json.loads(self.request("GET", "capabilities")[1])

    def start(self, offer, seconds):
        """Returns the seconds that the view lasts, and the answer."""
        headers, answer = self.request("POST", "whep", offer, "application/sdp", **{"Oriel-Lease": str(seconds)})
        self.session = headers["Location"]
        return int(headers["Oriel-Lease"]), answer

    def extend(self, seconds):
        body = json.dumps({"seconds": seconds})
        return json.loads(self.request("PUT", f"{self.session}/lease", body)[1])["seconds"]

    def command(self, **command):
        self.request("POST", f"{self.session}/command", json.dumps(command))

    def talk(self):
        """Asks to speak. Returns "granted", or "asked" while a person has to allow it."""
        return json.loads(self.request("POST", f"{self.session}/talk")[1])["talk"]

    def stop(self):
        self.request("DELETE", self.session)


async def count_frames(track, seen):
    while True:
        frame = await track.recv()
        seen.append((frame.width, frame.height))


async def look(share, connection, seconds):
    seen = []
    # Silence; put a microphone in its place (aiortc.contrib.media.MediaPlayer).
    connection.addTransceiver(AudioStreamTrack(), direction="sendrecv")
    video = connection.addTransceiver("video", direction="recvonly")
    await connection.setLocalDescription(await connection.createOffer())
    lasts, answer = await asyncio.to_thread(share.start, connection.localDescription.sdp, seconds)
    try:
        await connection.setRemoteDescription(RTCSessionDescription(answer, "answer"))
        print("started, for", lasts, "s")
        counting = asyncio.create_task(count_frames(video.receiver.track, seen))
        while not seen:
            await asyncio.sleep(0.1)
        print("sees", *seen[-1])
        print("extended, to", await asyncio.to_thread(share.extend, 2 * seconds), "s")
        can = await asyncio.to_thread(share.capabilities)
        if "controls" in can["may"]:
            width, height = can["commands"]["viewport"]["source"]
            await asyncio.to_thread(share.command, viewport=[0, 0, width // 2, height // 2])
            print("shows the upper left quarter to all")
        if "talk" in can["may"] and "talk" in can:
            print("speaks:", await asyncio.to_thread(share.talk))
        await asyncio.sleep(1)
        counting.cancel()
    finally:
        await asyncio.to_thread(share.stop)
    print("stopped, after", len(seen), "frames")


async def main(link, seconds=60):
    connection = RTCPeerConnection(RTCConfiguration(iceServers=[]))
    try:
        await asyncio.wait_for(look(Share(link), connection, int(seconds)), 60)
    except (RuntimeError, asyncio.TimeoutError) as failure:
        sys.exit(str(failure) or "there is no picture")
    finally:
        await connection.close()


asyncio.run(main(*sys.argv[1:]))
