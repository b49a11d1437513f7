import TestSupport
import Testing

/// Sound by plain RTP, as programs hear it that open the description.
extension Hear {
    @Suite struct PlainSoundTests {
        @Test(arguments: ["ffmpeg", "gstreamer"]) func plainReceiversHearBothChannels(receiver: String) throws {
            let server = try XServer(.virtual(width: 640, height: 480))
            let broadcast = try Broadcast(on: server.display)
            let capture = try broadcast.start("--no-cursor")
            let singer = try broadcast.sing("440", "1000")
            let port = try Ports.free(count: 4)
            let sender = try broadcast.attach(toPort: port)
            let file = broadcast.folder.file("heard")
            let raw = "audio/x-raw,format=S16LE,rate=48000,channels=2"
            let command =
                receiver == "ffmpeg"
                ? [
                    "ffmpeg", "-nostdin", "-v", "warning", "-protocol_whitelist", "file,udp,rtp", "-i", broadcast.sdp,
                    "-map", "0:a", "-f", "s16le", "-ar", "48000", "-ac", "2", "-flush_packets", "1", file,
                ]
                : [
                    "gst-launch-1.0", "-q", "filesrc", "location=\(broadcast.sdp)", "!", "sdpdemux", "name=rtp",
                    "latency=200", "rtp.stream_0", "!", "fakesink", "rtp.stream_1", "!", "rtpopusdepay", "!", "opusdec",
                    "!", "audioconvert", "!", "audioresample", "!", raw, "!", "filesink", "buffer-mode=2",
                    "location=\(file)",
                ]
            let program = try Subprocess(command)
            try program.wait(until: "the tones are heard: \(HeardSound(file).purities(of: [440, 1000]))") {
                SoundClip.duration(of: file, channels: 2) > 2 && HeardSound(file).hears(tones: [440, 1000])
            }
            program.stop()
            for process in [sender, singer, capture] { process.stop() }
        }
    }
}
