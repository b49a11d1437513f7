#!/usr/bin/python3
"""WHEP viewer on GStreamer's webrtcbin, whose certificate is RSA. It runs with Debian's python3 and python3-gi."""

import asyncio
import urllib.parse

import gi

gi.require_version("Gst", "1.0")
gi.require_version("GstSdp", "1.0")
gi.require_version("GstWebRTC", "1.0")
from gi.repository import Gst, GstSdp, GstWebRTC  # noqa: E402

from png import write_png  # noqa: E402
from whep import run  # noqa: E402

DECODERS = {"VP8": "rtpvp8depay request-keyframe=true ! vp8dec", "VP9": "rtpvp9depay request-keyframe=true ! vp9dec"}
RGB = 'videoconvert ! video/x-raw,format=RGB !'
OPUS = "application/x-rtp,media=audio,encoding-name=OPUS,payload=111,clock-rate=48000,encoding-params=(string)2"
SOUND = "audio/x-raw,format=S16LE,rate=48000,channels=2,layout=interleaved"
FEEDBACK = "rtcp-fb-nack-pli=true,rtcp-fb-ccm-fir=true"
# Without it, decoders guess the matrix by the size of the picture.
COLOURS = "extmap-9=(string)http://www.webrtc.org/experiments/rtp-hdrext/color-space"


class Viewer:
    def __init__(self, arguments):
        self.arguments = arguments
        self.frames = 0
        self.last = None
        self.kept = []
        Gst.init(None)
        self.pipeline = Gst.Pipeline()
        self.connection = Gst.ElementFactory.make("webrtcbin")
        self.connection.set_property("bundle-policy", GstWebRTC.WebRTCBundlePolicy.MAX_BUNDLE)
        if arguments.turn:
            user, password = (urllib.parse.quote(text or "") for text in (arguments.turn_user, arguments.turn_password))
            self.connection.set_property("turn-server", f"turn://{user}:{password}@{arguments.turn}")
        if arguments.relay_only:
            self.connection.set_property("ice-transport-policy", GstWebRTC.WebRTCICETransportPolicy.RELAY)
        self.connection.connect("pad-added", self.add_decoder)
        self.pipeline.add(self.connection)

    async def offer(self):
        codecs = [self.arguments.codec] if self.arguments.codec else list(DECODERS)
        caps = "; ".join(
            f"application/x-rtp,media=video,encoding-name={name},payload={payload},clock-rate=90000,{FEEDBACK},{COLOURS}"
            for payload, name in enumerate(codecs, 96)
        )
        receive_only = GstWebRTC.WebRTCRTPTransceiverDirection.RECVONLY
        transceiver = self.connection.emit("add-transceiver", receive_only, Gst.Caps.from_string(caps))
        transceiver.set_property("do-nack", True)
        if self.arguments.talk:
            self.add_tone(self.arguments.talk)
        elif self.arguments.sound:
            self.connection.emit("add-transceiver", receive_only, Gst.Caps.from_string(OPUS))
        self.pipeline.set_state(Gst.State.PLAYING)
        offer = self.ask("create-offer", None).get_value("offer")
        self.kept.append(offer)
        self.ask("set-local-description", offer)
        for _ in range(100):
            if self.connection.get_property("ice-gathering-state") == GstWebRTC.WebRTCICEGatheringState.COMPLETE:
                break
            await asyncio.sleep(0.05)
        return self.connection.get_property("local-description").sdp.as_text()

    def add_tone(self, frequency):
        """Sends a tone, and copies of each packet in the one behind it."""
        tone = Gst.parse_bin_from_description(
            f"audiotestsrc is-live=true freq={frequency} volume=0.25 ! audio/x-raw,rate=48000,channels=1 !"
            f" opusenc inband-fec=true packet-loss-percentage=20 audio-type=voice ! rtpopuspay pt=111 !"
            f' capsfilter caps="{OPUS}"',
            True,
        )
        self.pipeline.add(tone)
        tone.link(self.connection)

    def ask(self, action, argument):
        """Asks webrtcbin and waits for its reply, which lives as long as the viewer."""
        promise = Gst.Promise.new()
        self.connection.emit(action, argument, promise)
        promise.wait()
        reply = promise.get_reply()
        self.kept += [promise, reply]
        if reply and reply.has_field("error"):
            raise RuntimeError(f"{action}: {reply.get_value('error')}")
        return reply

    async def accept(self, answer):
        _, message = GstSdp.SDPMessage.new_from_text(answer)
        description = GstWebRTC.WebRTCSessionDescription.new(GstWebRTC.WebRTCSDPType.ANSWER, message)
        self.kept += [message, description]
        self.ask("set-remote-description", description)

    def add_decoder(self, _, pad):
        if pad.direction != Gst.PadDirection.SRC:
            return
        name = pad.get_current_caps().get_structure(0).get_value("encoding-name")
        sink = "appsink name=sink sync=false emit-signals=true"
        if name == "OPUS" and not self.arguments.sound:
            decoding = "fakesink"
        elif name == "OPUS":
            decoding = f"rtpopusdepay ! opusdec ! audioconvert ! audioresample ! {SOUND} ! {sink}"
        else:
            decoding = f"{DECODERS[name]} ! {RGB if self.arguments.png else ''} {sink} max-buffers=1 drop=true"
        bin = Gst.parse_bin_from_description(decoding, True)
        if application := bin.get_by_name("sink"):
            application.connect("new-sample", self.record if name == "OPUS" else self.count)
        self.pipeline.add(bin)
        bin.sync_state_with_parent()
        pad.link(bin.get_static_pad("sink"))

    def count(self, sink):
        self.last = sink.emit("pull-sample")
        self.frames += 1
        return Gst.FlowReturn.OK

    def record(self, sink):
        buffer = sink.emit("pull-sample").get_buffer()
        self.arguments.sound.write(buffer.extract_dup(0, buffer.get_size()))
        return Gst.FlowReturn.OK

    async def progress(self):
        return self.connection.get_property("connection-state").value_nick, self.frames

    async def details(self):
        details = {"srtp": self.protection_profile(), "pair": self.pair()}
        if self.last:
            caps = self.last.get_caps().get_structure(0)
            width, height = caps.get_value("width"), caps.get_value("height")
            details["width"], details["height"] = width, height
            if self.arguments.png:
                buffer = self.last.get_buffer()
                pixels = buffer.extract_dup(0, buffer.get_size())
                write_png(self.arguments.png, width, height, (width * 3 + 3) // 4 * 4, pixels)
        return details

    def pair(self):
        stats = self.ask("get-stats", None)
        for index in range(stats.n_fields()):
            name = stats.nth_field_name(index)
            if name.startswith("ice-candidate-pair"):
                pair = stats.get_value(name)
                ends = (stats.get_value(pair.get_value(end + "-candidate-id")) for end in ("local", "remote"))
                return "-".join(end.get_value("candidate-type") for end in ends)
        return None

    def protection_profile(self):
        elements = self.pipeline.iterate_recurse()
        while True:
            result, element = elements.next()
            if result != Gst.IteratorResult.OK:
                return None
            factory = element.get_factory()
            if factory and factory.get_name() == "dtlsdec" and element.get_property("srtp-cipher") == 1:
                return "SRTP_AES128_CM_HMAC_SHA1_" + {1: "32", 2: "80"}[element.get_property("srtp-auth")]

    async def close(self):
        self.pipeline.set_state(Gst.State.NULL)


if __name__ == "__main__":
    run(Viewer, __doc__, relay=True, png=True, sound=True, talk=True)
