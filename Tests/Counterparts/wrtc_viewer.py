"""WHEP viewer on libwebrtc, by way of the Python package wrtc. It offers what Chromium does, and TURN."""

import asyncio

import webrtc

from png import write_png
from recording import record, with_both_channels
from whep import protection_profile, run


class Viewer:
    def __init__(self, arguments):
        self.arguments = arguments
        self.last = None

    async def offer(self):
        configuration = webrtc.RTCConfiguration()
        if self.arguments.turn:
            server = webrtc.RTCIceServer(
                urls=[f"turn:{self.arguments.turn}?transport=udp"],
                username=self.arguments.turn_user,
                credential=self.arguments.turn_password,
            )
            configuration.ice_servers = [server]
        if self.arguments.relay_only:
            configuration.ice_transport_policy = "relay"
        self.connection = webrtc.RTCPeerConnection(configuration)
        video = self.connection.add_transceiver("video", webrtc.RTCRtpTransceiverInit(direction="recvonly"))
        if self.arguments.png:
            self.keeping = asyncio.ensure_future(self.keep_last(video.receiver.track))
        if self.arguments.sound:
            sound = self.connection.add_transceiver("audio", webrtc.RTCRtpTransceiverInit(direction="recvonly"))
            self.recording = asyncio.ensure_future(record(sound.receiver.track, self.arguments.sound))
        offer = await self.connection.create_offer()
        await self.connection.set_local_description(with_both_channels(offer))
        for _ in range(100):
            if self.connection.ice_gathering_state.value == "complete":
                break
            await asyncio.sleep(0.05)
        return self.connection.local_description.sdp

    async def accept(self, answer):
        await self.connection.set_remote_description(webrtc.RTCSessionDescriptionInit(type="answer", sdp=answer))

    async def keep_last(self, track):
        """Keeps the red, green and blue of the last picture, and a byte of nothing behind each three."""
        async for frame in webrtc.MediaStreamTrackProcessor(webrtc.MediaStreamTrackProcessorInit(track=track)).readable:
            with frame:
                options = webrtc.VideoFrameCopyToOptions(format="RGBX")
                pixels = bytearray(frame.allocation_size(options))
                frame.copy_to(pixels, options)
                self.last = frame.visible_rect.width, frame.visible_rect.height, pixels

    async def progress(self):
        _, video = await self.stats()
        return self.connection.connection_state.value, video.frames_decoded or 0 if video else 0

    async def stats(self):
        """The whole report, and the part about the received video."""
        stats = await self.connection.get_stats()
        received = [entry for entry in stats.values() if entry.type.value == "inbound-rtp" and entry.kind == "video"]
        return stats, received[0] if received else None

    async def details(self):
        stats, video = await self.stats()
        details = {}
        if video:
            details["width"], details["height"] = video.frame_width, video.frame_height
        if self.arguments.png and self.last:
            width, height, pixels = self.last
            rgb = bytearray(3 * width * height)
            for channel in range(3):
                rgb[channel::3] = pixels[channel::4]
            write_png(self.arguments.png, int(width), int(height), 3 * int(width), bytes(rgb))
        for transport in stats.values():
            if transport.type.value != "transport":
                continue
            details["srtp"] = protection_profile(transport.srtp_cipher)
            details["dtls"] = {"FEFF": "1.0", "FEFD": "1.2", "FEFC": "1.3"}.get(transport.tls_version)
            pair = stats.get(transport.selected_candidate_pair_id)
            if pair:
                ends = stats[pair.local_candidate_id], stats[pair.remote_candidate_id]
                details["pair"] = "-".join(end.candidate_type.value for end in ends)
        return details

    async def close(self):
        self.connection.close()


if __name__ == "__main__":
    run(Viewer, __doc__, relay=True, png=True, sound=True)
