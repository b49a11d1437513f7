import Control
import Glibc
import JSON
import Posix

/// A recorder's connection to a sender, which is not trusted.
struct FeedConnection: ~Copyable {
    /// Bytes that are read before anything else is done: a sender that sends without end must not keep the recorder.
    private static let mostAtOnce = 1 << 20

    private let socket: FileDescriptor
    private var decoder = FeedDecoder()
    private var buffer = [UInt8](repeating: 0, count: 65_536)

    /// Subscribes.
    init(_ socket: consuming FileDescriptor) throws {
        self.socket = socket
        let line = Array((try SenderRequest.subscribe.jsonLine() + "\n").utf8)
        guard try self.socket.sendAvailable(line[...]) == line.count else { throw SystemError("send", code: EAGAIN) }
    }

    var raw: Int32 { socket.raw }

    /// Asks for something. A request that has no room is lost: the engine repeats those for keyframes.
    func request(_ request: FeedRequest) { _ = try? socket.sendAvailable([request.rawValue]) }

    /// - Throws: if it has no room: the sender does not read.
    func send(_ answer: FeedAnswer) throws {
        let bytes = answer.bytes
        guard try socket.sendAvailable(bytes[...]) == bytes.count else { throw SystemError("send", code: EAGAIN) }
    }

    /// The messages that have come.
    ///
    /// - Returns: their bytes.
    /// - Throws: if the sender has gone, or sends what no sender does.
    mutating func receive(_ take: (FeedMessage) -> Void) throws -> Int {
        var count = 0
        while count < Self.mostAtOnce {
            let read = try buffer.withUnsafeMutableBytes { try readAvailable(from: socket.raw, into: $0) }
            guard let read else { break }
            if read == 0 { throw SystemError("recv", code: ECONNRESET) }
            count += read
            decoder.take(buffer[..<read])
            while let message = try decoder.next() { take(message) }
        }
        return count
    }
}
