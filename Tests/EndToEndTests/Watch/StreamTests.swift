import FoundationEssentials
import Glibc
import Posix
import TestSupport
import Testing

/// A session with two videos and a sound in one bundle (`Tests/StreamPeer`), received by stacks that others wrote.
extension Watch {
    @Suite struct StreamTests {
        /// What came in one media description.
        struct Track: Decodable {
            let mid: String
            let kind: String
            let frames: Int
            let packets: Int
            let lost: Int
            let clockRate: Int?
            let names: [String]?
            let reported: Int?
        }

        private struct Description: Codable { let sdp: String }
        private struct Report: Decodable { let tracks: [Track] }

        /// A program that exchanges descriptions in lines.
        private final class Program {
            private final class Input {
                let pipe: Pipe
                init(_ pipe: consuming Pipe) { self.pipe = pipe }
            }

            private let process: Subprocess
            private var input: Input?
            private var linesRead = 0

            init(_ command: [String]) throws {
                let pipe = try Pipe()
                process = try Subprocess(command, input: pipe.reading.raw)
                self.input = Input(pipe)
            }

            static func streams(_ role: String, in network: Network) throws -> Program {
                try Program(network.atSender(["\(TestPrograms.directory)/stream-peer", role]))
            }

            func tell(_ sdp: String) throws {
                let line = String(decoding: try JSONEncoder().encode(Description(sdp: sdp)), as: UTF8.self)
                try input!.pipe.writing.write(line + "\n")
            }

            func sdp() throws -> String { try next(Description.self, "a description").sdp }

            func next<Value: Decodable>(_ type: Value.Type, _ what: String) throws -> Value {
                var line: Substring = ""
                try wait(until: "\(what) is told") {
                    let lines = process.outputLines
                    if lines.count <= linesRead, let exit = process.status() {
                        throw Unexpected("\(what): \(exit) \(process.errorOutput)")
                    }
                    guard lines.count > linesRead else { return false }
                    line = lines[linesRead]
                    return true
                }
                linesRead += 1
                let decoder = JSONDecoder()
                decoder.keyDecodingStrategy = .convertFromSnakeCase
                return try decoder.decode(type, from: Data(line.utf8))
            }

            /// Ends its input, and waits for its end.
            func finish() throws {
                input = nil
                #expect(try process.wait() == .code(0), "\(process.errorOutput)")
            }
        }

        /// Three descriptions with a stream each, of which all say the same name.
        private func check(ours sdp: String) {
            let lines = sdp.split(separator: "\r\n")
            let names = lines.filter { $0.hasPrefix("a=ssrc:") }.compactMap {
                $0.split(separator: "cname:").dropFirst().first
            }
            #expect(names.count >= 3 && Set(names).count == 1, "\(names)")
            #expect(lines.count { $0 == "a=sendonly" } == 3)
            #expect(lines.count { $0.hasPrefix("a=group:BUNDLE") && $0.split(separator: " ").count == 4 } == 1)
        }

        private func check(_ tracks: [Track], in kinds: [String], over network: Network) throws {
            #expect(tracks.sorted { $0.mid < $1.mid }.map(\.kind) == kinds, "a track for each description")
            #expect(Set(tracks.map(\.mid)) == ["0", "1", "2"])
            // A busy machine may leave the receiver's socket full.
            #expect(try tracks.reduce(0) { $0 + $1.lost } <= network.overflowsAtViewer(), "\(tracks)")
            for track in tracks {
                #expect(track.packets >= 30, "\(track)")
                if track.kind == "video" { #expect(track.frames >= 10, "\(track)") }
                if let rate = track.clockRate { #expect(rate == (track.kind == "video" ? 90_000 : 48_000)) }
            }
        }

        /// It does not decode, but tells what stands in the reports.
        @Test func pionGetsAllStreamsAndOneName() throws {
            let network = try Network()
            let streams = try Program.streams("answer", in: network)
            let pion = try Program(network.atViewer([Counterparts.session, "300"]))
            try streams.tell(try pion.sdp())
            let answer = try streams.sdp()
            check(ours: answer)
            try pion.tell(answer)
            let tracks = try pion.next(Report.self, "what came").tracks
            try check(tracks, in: ["video", "audio", "video"], over: network)
            #expect(tracks.compactMap(\.clockRate).count == 3)
            let names = Set(tracks.flatMap { $0.names ?? [] })
            #expect(names.count == 1 && names.allSatisfy { answer.contains("cname:\($0)") })
            #expect(tracks.map(\.reported) == [3, 3, 3], "one report for all")
            try streams.finish()
        }

        @Test(arguments: ["offer", "answer"])
        func aiortcGetsAllStreams(role: String) throws {
            let network = try Network()
            let streams = try Program.streams(role, in: network)
            let other = role == "offer" ? "answer" : "offer"
            let aiortc = try Program(
                network.atViewer(Counterparts.python + [Counterparts.path("aiortc_session.py"), other, "300"])
            )
            try exchange(role, streams, aiortc)
            try check(
                aiortc.next(Report.self, "what came").tracks,
                in: ["video", "video", "audio"],
                over: network
            )
            // What it sent inside of DTLS has changed nothing.
            try streams.finish()
        }

        private func exchange(_ role: String, _ streams: Program, _ other: Program) throws {
            if role == "offer" {
                let offer = try streams.sdp()
                check(ours: offer)
                try other.tell(offer)
                try streams.tell(try other.sdp())
            } else {
                try streams.tell(try other.sdp())
                let answer = try streams.sdp()
                check(ours: answer)
                try other.tell(answer)
            }
        }

        private static let page = """
            window.pc = new RTCPeerConnection();
            pc.ontrack = ({track}) => {
                const element = document.createElement(track.kind);
                Object.assign(element, {srcObject: new MediaStream([track]), muted: true, autoplay: true});
                document.documentElement.append(element);
            };
            window.gathered = new Promise(resolve => {
                pc.onicegatheringstatechange = () => pc.iceGatheringState == "complete" && resolve();
            });
            """

        @Test(arguments: Browser.Kind.allCases, ["offer", "answer"])
        func browsersGetAllStreams(kind: Browser.Kind, role: String) throws {
            let network = try Network()
            let browser = try network.browser(kind)
            func describe(_ script: String) throws -> String {
                try browser.evaluate("(async () => {\(script)\nawait gathered; return pc.localDescription.sdp})()")
            }
            func quoted(_ sdp: String) throws -> String {
                String(decoding: try JSONEncoder().encode(sdp), as: UTF8.self)
            }
            let streams = try Program.streams(role, in: network)
            if role == "offer" {
                let offer = try streams.sdp()
                check(ours: offer)
                let answer = try describe(
                    """
                    \(Self.page)
                    await pc.setRemoteDescription({type: "offer", sdp: \(try quoted(offer))});
                    await pc.setLocalDescription();
                    """
                )
                try streams.tell(answer)
            } else {
                let offer = try describe(
                    """
                    \(Self.page)
                    for (const kind of ["video", "video", "audio"]) pc.addTransceiver(kind, {direction: "recvonly"});
                    await pc.setLocalDescription();
                    """
                )
                try streams.tell(offer)
                let answer = try streams.sdp()
                check(ours: answer)
                let script = "pc.setRemoteDescription({type: 'answer', sdp: \(try quoted(answer))}).then(() => true)"
                #expect(try browser.evaluate(script, as: Bool.self))
            }
            func tracks() throws -> [Track] {
                let text: String = try browser.evaluate(
                    """
                    (async () => {
                        const stats = await pc.getStats(), all = [...stats.values()];
                        return JSON.stringify(pc.getTransceivers().map(({mid, receiver}) => {
                            const stream = all.find(item => item.type == "inbound-rtp" && item.mid == mid) ?? {};
                            return {mid, kind: receiver.track.kind, frames: stream.framesDecoded ?? 0,
                                packets: stream.packetsReceived ?? 0, lost: stream.packetsLost ?? 0,
                                clockRate: stats.get(stream.codecId)?.clockRate};
                        }));
                    })()
                    """
                )
                return try JSONDecoder().decode([Track].self, from: Data(text.utf8))
            }
            try wait(until: "all streams come") {
                let tracks = try tracks()
                return tracks.count == 3
                    && tracks.allSatisfy { $0.packets >= 30 && ($0.kind == "audio" || $0.frames >= 10) }
            }
            let all = try tracks()
            try check(all, in: ["video", "video", "audio"], over: network)
            #expect(all.compactMap(\.clockRate).count == 3)
            try streams.finish()
            try wait(until: "the goodbye is heard") {
                try browser.evaluate("pc.connectionState != 'connected' || pc.sctp?.transport.state == 'closed'")
            }
        }
    }
}
