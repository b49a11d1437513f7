import Glibc
import Posix
import TestSupport
import Testing
import Time

/// What programs by others make of the stream.
extension Receive {
    @Suite struct ReceiverTests {
        /// VP8 and VP9, each to ffmpeg and to GStreamer: at least 150 changing pictures, and then a still one.
        @Test func receiversDecodeChangingPicturesWithoutAComplaint() throws {
            let server = try XServer(.virtual(width: 1920, height: 1080))
            let broadcast = try Broadcast(on: server.display)
            let folder = broadcast.folder
            let capture = try broadcast.start("--no-cursor")
            let streams = try ["vp8", "vp9"].map { codec in
                try Stream(codec, of: broadcast)
            }
            for scene in ["typing", "demo", "scrolling"] {
                let workload = try draw(scene, on: server)
                for stream in streams {
                    let before = stream.receivers.map(\.frameCount)
                    try wait(until: "\(scene) is received") {
                        zip(stream.receivers, before).allSatisfy { $0.frameCount > $1 + 50 }
                    }
                }
                try #require(workload.status() == nil, "\(workload.errorOutput)")
                if scene != "scrolling" {
                    workload.stop()
                    continue
                }
                try workload.suspend()
                for stream in streams {
                    for receiver in stream.receivers {
                        try stream.waitFor(receiver, toShow: server, decibels: 40)
                        let sent = stream.timestamps.count
                        if try receiver.gotAll {
                            let count = receiver.frameCount
                            #expect(count > sent * 9 / 10, "\(stream.codec) in \(receiver.kind) of \(sent)")
                            #expect(receiver.complaints == [], "\(stream.codec) in \(receiver.kind)")
                        }
                    }
                }
            }
            // To their farewell, however long that takes.
            for stream in streams {
                stream.sender.kill(SIGTERM)
                try stream.sender.wait()
            }
            capture.stop()

            for stream in streams {
                let packets = stream.tap.datagrams(.media).compactMap { RTPPacket($0.bytes) }
                let check = SequenceCheck(packets)
                #expect(packets.count == stream.tap.datagrams(.media).count)
                #expect(check.missing == 0)
                #expect(check.sources.count == 1)
                // 30 new pictures a second; between two of them the one before may be refined.
                let stamps = stream.timestamps
                #expect(stamps.count > 100)
                for (one, later) in zip(stamps, stamps.dropFirst(62)) { #expect(later &- one >= 90_000) }
                #expect(packets.allSatisfy { $0.payload.count <= 1200 })
                stream.receivers.forEach { $0.stop() }
            }
            try expectNoMalformedPacket(in: streams[0].tap, folder)
        }

        /// What Oriel prints for a receiver is typed into a shell as it stands, and shows the screen on another one. The only keyframe is
        /// the first one, which `ffmpeg -fflags nobuffer` throws away.
        @Test(arguments: ["ffmpeg", "gstreamer", "vlc"]) func whatIsPrintedForAReceiverWorks(receiver: String) throws {
            let server = try XServer(.virtual(width: 1280, height: 720))
            let viewer = try XServer(.virtual(width: 1280, height: 720))
            let broadcast = try Broadcast(on: server.display)
            let capture = try broadcast.start("--no-cursor")
            let workload = try draw("demo", on: server)
            let port = try Ports.free(AF_INET)
            let call = "rtp://127.0.0.1:\(port)"
            let printed = try CommandResult([Programs.oriel, "attach", "--print", receiver, call])
            #expect(printed.code == 0, "\(printed.errorOutput)")
            let folder = try TemporaryDirectory(of: .shared)
            let shell = ["timeout", "300", "sh", "-c", "cd \(folder.path)\n\(printed.output)"]
            let program = try Subprocess(
                OrdinaryUser.shared.running(["env", "DISPLAY=\(viewer.display)", "SDL_AUDIODRIVER=dummy"] + shell)
            )
            try wait(until: "the receiver listens: \(program.errorOutput)") { try Ports.isTaken(port) }
            let sender = try Subprocess(
                [Programs.oriel, "attach", "--dir", broadcast.directory, call, "--keyframe-interval", "0"]
            )
            try program.wait(until: "the picture is on the other screen") {
                let grab = broadcast.folder.file("grab.png")
                let display = ["-f", "x11grab", "-draw_mouse", "0", "-video_size", "1280x720", "-i", viewer.display]
                try Subprocess.run(["ffmpeg", "-nostdin", "-y", "-v", "error"] + display + ["-frames:v", "1", grab])
                let bytes = try pixels(ofPicture: grab)
                return bytes.count { $0 > 20 } > bytes.count / 2
            }
            program.stop()
            for process in [sender, workload, capture] { process.stop() }
        }

        /// AV1, by the one plain receiver at hand that takes it.
        @Test func aNewerFFmpegDecodesAV1WithoutAComplaint() throws {
            let server = try XServer(.virtual(width: 1920, height: 1080))
            let broadcast = try Broadcast(on: server.display)
            let capture = try broadcast.start("--no-cursor")
            let stream = try Stream("av1", of: broadcast, to: [.newerFFmpeg])
            for scene in ["typing", "scrolling"] {
                let workload = try draw(scene, on: server)
                let before = stream.receivers.map(\.frameCount)
                try wait(until: "\(scene) is received") {
                    zip(stream.receivers, before).allSatisfy { $0.frameCount > $1 + 75 }
                }
                try workload.suspend()
                for receiver in stream.receivers {
                    try stream.waitFor(receiver, toShow: server, decibels: 45)
                    if try receiver.gotAll { #expect(receiver.complaints == []) }
                }
                workload.kill(SIGCONT)
                workload.stop()
            }
            stream.receivers.forEach { $0.stop() }
            stream.sender.stop()
            capture.stop()
        }

        /// tshark agrees that every packet is what it should be.
        private func expectNoMalformedPacket(in tap: RTPTap, _ folder: TemporaryDirectory) throws {
            let path = folder.file("stream.pcap")
            let sent = tap.datagrams.filter { $0.direction != .feedback }
            try writeCapture(sent, mediaPort: tap.port, to: path)
            func count(_ filter: String) throws -> Int {
                try dissect(path, mediaPort: tap.port, filter: filter).count
            }
            let complaints = try dissect(
                path,
                mediaPort: tap.port,
                filter: "_ws.malformed || _ws.expert.severity >= warning"
            )
            for number in complaints.compactMap({ Int($0) }) {
                let datagram = sent[number - 1]
                // tshark 4.0 looks for the second partition beyond the end of a packet that the first one fills.
                let isFilled =
                    datagram.direction == .media && RTPPacket(datagram.bytes)?.endsWithFirstVP8Partition == true
                #expect(isFilled, "packet \(number): \(datagram.bytes)")
            }
            let media = tap.datagrams(.media).count
            #expect(try count("vp8") == media)
            #expect(try count("vp8.pld.pictureid && vp8.pld.tl0picidx") == media)
            let control = tap.datagrams(.control).count
            // A report each second on average (RFC 3550 §6.2), each up to half as much later.
            let stamps = sent.compactMap { $0.direction == .media ? RTPPacket($0.bytes)?.timestamp : nil }
            let (first, last) = try (#require(stamps.first), #require(stamps.last))
            let seconds = Int(last &- first) / 90_000
            try #require(seconds >= 5)
            #expect(control >= seconds * 2 / 3)
            #expect(try count("rtcp.pt == 200 && rtcp.sdes.type == 1") == control)
            #expect(try count("rtcp.pt == 203") == 1)
        }

        /// A sender, what lies between, and two receivers.
        private struct Stream {
            let codec: String
            let tap: RTPTap
            let sender: Subprocess
            let receivers: [Receiver]
            private let folder: TemporaryDirectory

            /// The different ones, in the order of sending.
            var timestamps: [UInt32] {
                var stamps: [UInt32] = []
                for packet in tap.datagrams(.media).compactMap({ RTPPacket($0.bytes) })
                where packet.timestamp != stamps.last { stamps.append(packet.timestamp) }
                return stamps
            }

            init(
                _ codec: String,
                of broadcast: Broadcast,
                to kinds: [Receiver.Kind] = [.ffmpeg, .gstreamer]
            ) throws {
                self.codec = codec
                folder = broadcast.folder
                let sdp = broadcast.folder.file("\(codec).sdp")
                let description = try Self.description(codec, of: broadcast, sdp)
                let ports = try kinds.map { _ in try Ports.free() }
                receivers = try zip(kinds, ports).map { kind, port in
                    try Receiver(kind, sdp: description, port: port, in: broadcast.folder)
                }
                try wait(until: "the receivers listen") { try ports.allSatisfy(Ports.isTaken) }
                tap = try RTPTap(receivers: ports)
                // Without periodic keyframes only the first one could set right what went wrong.
                sender = try broadcast.attach(
                    to: "rtp://127.0.0.1:\(tap.port)",
                    sdp: sdp,
                    ["--codec", codec, "--keyframe-interval", "0"]
                )
            }

            /// One that a busy machine has cost packets gets a keyframe; no other one needs any.
            func waitFor(_ receiver: Receiver, toShow server: XServer, decibels: Double) throws {
                try receiver.requireRunning()
                var screen = try independentGrab(of: server, in: folder)
                var askedAt = MonotonicClock.now()
                var likeness = 0.0
                do {
                    try wait(until: "\(codec) in \(receiver.kind) shows the screen") {
                        if let frame = receiver.lastFrame { likeness = lumaPSNR(frame, screen) }
                        if likeness >= decibels { return true }
                        guard MonotonicClock.now() > askedAt + .seconds(5) else { return false }
                        // What a stopped program had asked for may be drawn after the grab.
                        screen = try independentGrab(of: server, in: folder)
                        if try !receiver.gotAll {
                            let ssrc = tap.datagrams(.media).last.flatMap { RTPPacket($0.bytes) }?.ssrc ?? 0
                            try tap.send(feedback: Feedback.pictureLossIndication(about: ssrc))
                        }
                        askedAt = MonotonicClock.now()
                        return false
                    }
                } catch let timeout as WaitTimeout {
                    let frames = "\(receiver.frameCount) frames of \(timestamps.count)"
                    throw Unexpected("\(timeout): \(likeness) dB, \(frames); \(receiver.complaints)")
                }
            }

            /// Receivers start before their sender, to see its first packet; what they are to expect it tells beforehand.
            private static func description(_ codec: String, of broadcast: Broadcast, _ sdp: String) throws -> String {
                let sender = try broadcast.attach(to: "rtp://127.0.0.1:\(Ports.free())", sdp: sdp, ["--codec", codec])
                sender.stop()
                return String(decoding: try contents(of: sdp), as: UTF8.self)
            }
        }
    }
}

/// Luma of the screen at 1280x720, grabbed, converted and scaled by ffmpeg alone.
private func independentGrab(of server: XServer, in folder: TemporaryDirectory) throws -> [UInt8] {
    let path = folder.file("grab.yuv")
    try Subprocess.run([
        "ffmpeg", "-nostdin", "-y", "-loglevel", "error", "-f", "x11grab", "-draw_mouse", "0", "-video_size",
        "1920x1080",
        "-i", server.display, "-frames:v", "1", "-vf",
        "scale=out_color_matrix=bt601:out_range=tv,format=yuv444p,scale=1280:720:flags=area,format=yuv420p",
        "-f", "rawvideo", path,
    ])
    return try contents(of: path)
}

private func lumaPSNR(_ one: [UInt8], _ other: [UInt8]) -> Double {
    let count = Receiver.width * Receiver.height
    guard one.count >= count, other.count >= count else { return 0 }
    var squares = 0
    for index in 0..<count {
        let difference = Int(one[index]) - Int(other[index])
        squares += difference * difference
    }
    return squares == 0 ? 99 : 10 * log10(255 * 255 * Double(count) / Double(squares))
}
