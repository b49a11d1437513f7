import Glibc
import Posix
import TestSupport
import Testing
import Time

extension Capture {
    /// A window on an X server that is slow to read.
    @Suite struct SlowDisplayTests {
        /// Carries what an X server and one client of it say, as far as the test lets it.
        private final class Line {
            private let listener: FileDescriptor
            private let server: FileDescriptor
            private var client: Int32?
            /// Bytes that the server has sent.
            private(set) var sentByServer = 0

            /// What the client has as its DISPLAY: no server takes so high a number.
            let display = ":\(100_000 + getpid())"

            /// - Parameter display: the server's.
            init(to display: String) throws {
                listener = try Self.socket(at: Self.path(of: self.display), bind)
                server = try Self.socket(at: Self.path(of: display), connect)
                try check("listen") { listen(listener.raw, 1) }
            }

            deinit {
                if let client { close(client) }
                unlink(Self.path(of: display))
            }

            private static func path(of display: String) -> String { "/tmp/.X11-unix/X\(display.dropFirst())" }

            private static func socket(
                at path: String,
                _ attach: (Int32, UnsafePointer<sockaddr>, socklen_t) -> Int32
            ) throws -> FileDescriptor {
                let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
                let socket = FileDescriptor(taking: try check("socket") { Glibc.socket(AF_UNIX, kind, 0) })
                var address = sockaddr_un()
                address.sun_family = sa_family_t(AF_UNIX)
                withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
                try withUnsafeBytes(of: address) { bytes in
                    let address = bytes.baseAddress!.assumingMemoryBound(to: sockaddr.self)
                    try check("bind or connect to \(path)") { attach(socket.raw, address, socklen_t(bytes.count)) }
                }
                return socket
            }

            /// Carries what comes in a tenth of a second, as many rounds as the client needs for its questions and their answers.
            ///
            /// - Parameter isServerReading: whether what the client sends is carried, too.
            func carry(isServerReading: Bool = true) throws {
                for _ in 0..<50 {
                    try carryOnce(isServerReading: isServerReading)
                    MonotonicClock.sleep(for: .milliseconds(2))
                }
            }

            private func carryOnce(isServerReading: Bool) throws {
                if client == nil, waitReadable(listener.raw, until: .start) {
                    client = try check("accept") { accept(listener.raw, nil, nil) }
                }
                guard let client else { return }
                if isServerReading { _ = try carry(from: client, to: server.raw) }
                sentByServer += try carry(from: server.raw, to: client)
            }

            private func carry(from source: Int32, to target: Int32) throws -> Int {
                var total = 0
                var bytes = [UInt8](repeating: 0, count: 1 << 16)
                while true {
                    let count = recv(source, &bytes, bytes.count, Int32(MSG_DONTWAIT))
                    guard count > 0 else { return total }
                    try check("send") { Int32(send(target, bytes, count, Int32(MSG_NOSIGNAL))) }
                    total += count
                }
            }

            /// Bytes of the client that were not carried yet.
            var waitingForServer: Int { count(UInt(FIONREAD)) }
            /// Bytes of the server that the client has not read yet.
            var waitingForClient: Int { count(UInt(TIOCOUTQ)) }

            private func count(_ request: UInt) -> Int {
                var count: Int32 = 0
                if let client { _ = ioctl(client, request, &count) }
                return Int(count)
            }
        }

        /// What the server tells while a picture is being written to it is done when that is written, though the connection then has
        /// nothing more to read.
        @Test func aWindowThatIsSizedWhileItIsDrawnIsDrawnAgain() throws {
            let desk = try XServer(.virtual(width: 1600, height: 900))
            let folder = try TemporaryDirectory()
            let line = try Line(to: desk.display)
            let input = try Pipe()
            let view = try Subprocess(
                [Programs.orielOfTests, "view", "--received"],
                environment: ["DISPLAY": line.display],
                input: input.reading.raw
            )
            let (width, height) = (160, 120)
            let colour = [(width * height, 63), (width * height / 4, 102), (width * height / 4, 240)] as [(Int, UInt8)]
            try input.writing.write("YUV4MPEG2 W\(width) H\(height) F30:1 Ip A1:1 C420mpeg2\nFRAME\n")
            try input.writing.writeAll(colour.flatMap { Array(repeating: $0.1, count: $0.0) })
            func isRed(_ x: Int, _ y: Int) throws -> Bool { try desk.pixel(x: x, y: y, in: folder).0 > 150 }
            try wait(until: "the window shows the picture: \(view.errorOutput)", restsBetween: false) {
                try line.carry()
                return try isRed(80, 60)
            }
            let window = String(try desk.xdotool("search", "--name", "the other member").prefix { !$0.isNewline })
            try desk.xdotool("windowsize", window, "700", "500")
            try wait(until: "a picture is being written", restsBetween: false) {
                try line.carry(isServerReading: false)
                return line.waitingForServer > 50_000
            }
            let before = line.sentByServer
            try desk.xdotool("windowsize", window, "1000", "700")
            // Two events of 32 bytes.
            try wait(until: "the client has been told", restsBetween: false) {
                try line.carry(isServerReading: false)
                return line.sentByServer >= before + 64 && line.waitingForClient == 0
            }
            try wait(until: "the window is full", restsBetween: false) {
                try line.carry()
                return try isRed(500, 690)
            }
            view.stop()
        }
    }
}
