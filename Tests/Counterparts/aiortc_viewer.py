"""WHEP viewer on aiortc, a WebRTC stack in Python with OpenSSL, libsrtp and FFmpeg. It offers VP8, not VP9."""

import asyncio
import fractions
import math
import random
import struct

from aiortc import MediaStreamTrack, RTCConfiguration, RTCPeerConnection, RTCSessionDescription
from aiortc.codecs.opus import OpusEncoder
from aiortc.mediastreams import MediaStreamError
from av import AudioFrame

from png import write_png
from whep import protection_profile, run


class Tone(MediaStreamTrack):
    """A tone, in frames of 20 ms."""

    kind = "audio"

    def __init__(self, frequency):
        super().__init__()
        self.frequency = frequency
        self.count = 0

    async def recv(self):
        loop = asyncio.get_running_loop()
        if self.count == 0:
            self.start = loop.time()
        await asyncio.sleep(max(0, self.start + self.count * 0.02 - loop.time()))
        samples = range(self.count * 960, (self.count + 1) * 960)
        values = (int(8192 * math.sin(2 * math.pi * self.frequency * index / 48000)) for index in samples)
        frame = AudioFrame(format="s16", layout="mono", samples=960)
        frame.planes[0].update(struct.pack("<960h", *values))
        frame.sample_rate, frame.pts, frame.time_base = 48000, self.count * 960, fractions.Fraction(1, 48000)
        self.count += 1
        return frame


def speak_badly():
    """Has this stack send twenty packets for each: random, of any duration, or cut off."""
    encode = OpusEncoder.encode

    def several(self, frame, *arguments):
        packets, timestamp = encode(self, frame, *arguments)
        for index in range(20):
            packet = bytearray(packets[0] if index % 2 else random.randbytes(random.randint(1, 300)))
            packet[0] = random.randrange(256)
            packets.append(bytes(packet[: random.randint(1, len(packet))]))
        return packets, timestamp

    OpusEncoder.encode = several


class Viewer:
    def __init__(self, arguments):
        self.arguments = arguments
        self.frames = 0
        self.last = None
        self.reading = []

    async def offer(self):
        self.connection = RTCPeerConnection(RTCConfiguration(iceServers=[]))
        self.connection.on("track", self.read_track)
        self.connection.addTransceiver("video", direction="recvonly")
        if self.arguments.talk:
            if self.arguments.badly:
                speak_badly()
            self.connection.addTransceiver(Tone(self.arguments.talk), direction="sendrecv")
        elif self.arguments.sound:
            self.connection.addTransceiver("audio", direction="recvonly")
        await self.connection.setLocalDescription(await self.connection.createOffer())
        return self.connection.localDescription.sdp

    def read_track(self, track):
        async def read():
            try:
                while True:
                    frame = await track.recv()
                    if track.kind == "audio" and not self.arguments.sound:
                        continue
                    if track.kind == "audio":
                        self.arguments.sound.write(bytes(frame.planes[0])[: frame.samples * 4])
                        continue
                    self.last = frame
                    self.frames += 1
            except MediaStreamError:
                pass

        self.reading.append(asyncio.ensure_future(read()))

    async def accept(self, answer):
        await self.connection.setRemoteDescription(RTCSessionDescription(answer, "answer"))

    async def progress(self):
        return self.connection.connectionState, self.frames

    async def details(self):
        # aiortc tells neither cipher nor candidates in public.
        transport = self.connection.getTransceivers()[0].receiver.transport
        pair = transport.transport._connection._nominated.get(1)
        details = {"pair": f"{pair.local_candidate.type}-{pair.remote_candidate.type}" if pair else None}
        if transport.state == "connected":
            details["dtls"] = transport._ssl.get_protocol_version_name().removeprefix("DTLSv")
            details["srtp"] = protection_profile(transport._ssl.get_selected_srtp_profile().decode())
        if self.last:
            details["width"], details["height"] = self.last.width, self.last.height
            if self.arguments.png:
                self.write_last(self.arguments.png)
        return details

    def write_last(self, path):
        rgb = self.last.reformat(format="rgb24")
        write_png(path, rgb.width, rgb.height, rgb.planes[0].line_size, bytes(rgb.planes[0]))

    async def close(self):
        await self.connection.close()
        await asyncio.gather(*self.reading)


if __name__ == "__main__":
    run(Viewer, __doc__, png=True, sound=True, talk=True)
