import Glibc
import Posix
import TestSupport
import Testing

extension Receive {
    /// Where the stream may go to and come from.
    @Suite struct DestinationTests {
        @Test func anIPv6LiteralIsReached() throws {
            let description = try sdp(ofStreamTo: "[::1]", family: AF_INET6)
            #expect(description.contains("c=IN IP6 ::1"))
        }

        @Test func aNameIsReached() throws {
            let address = try SocketAddress.resolve(host: "localhost", port: 1)
            let description = try sdp(ofStreamTo: "localhost", family: address.family)
            #expect(description.contains("c=IN IP\(address.isIPv6 ? 6 : 4) \(address.host)"))
        }

        /// RTCP goes to the next port, whatever RTP's own is.
        @Test func anOddPortIsTakenAtItsWord() throws {
            let port = try Ports.free(count: 4) + 1
            #expect(try sdp(ofStreamTo: "127.0.0.1", family: AF_INET, port: port).contains("m=video \(port) "))
        }

        @Test func theLocalPortIsTheOneAskedFor() throws {
            let server = try XServer()
            let broadcast = try Broadcast(on: server.display)
            let capture = try broadcast.start()
            let port = try Ports.free()
            let sender = try broadcast.attach(toPort: try Ports.free(), "--local-port", "\(port)")
            #expect(try Ports.isTaken(port) && Ports.isTaken(port + 1))
            let second = try CommandResult([
                Programs.oriel, "attach", "rtp://127.0.0.1:\(Ports.free())", "--dir", broadcast.directory,
                "--local-port",
                "\(port)",
            ])
            #expect(second.code == 1)
            #expect(second.errorOutput.contains("\(port)"))
            sender.stop()
            capture.stop()
        }

        @Test(arguments: ["vp8", "vp9", "av1"])
        func theCodecIsNamed(codec: String) throws {
            let description = try sdp(ofStreamTo: "127.0.0.1", family: AF_INET, ["--codec", codec])
            #expect(description.contains(" \(codec.uppercased())/90000"))
        }

        /// Sends to a tap at an address until media and reports have come there, and returns the session description.
        private func sdp(
            ofStreamTo host: String,
            family: Int32,
            port: UInt16? = nil,
            _ arguments: [String] = []
        ) throws -> String {
            let server = try XServer()
            let broadcast = try Broadcast(on: server.display)
            let capture = try broadcast.start()
            let tap = try RTPTap(port: port, family: family)
            let sender = try broadcast.attach(to: "rtp://\(host):\(tap.port)", sdp: broadcast.sdp, arguments)
            try wait(until: "media and reports have come") {
                !tap.datagrams(.media).isEmpty && !tap.datagrams(.control).isEmpty
            }
            sender.stop()
            capture.stop()
            return String(decoding: try contents(of: broadcast.sdp), as: UTF8.self)
        }
    }
}
