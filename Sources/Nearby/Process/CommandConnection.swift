import Helpers
import JSON
import Posix

/// The connection of a command: requests and answers, a line each.
final class CommandConnection {
    /// Bytes that wait for a command. One that takes nothing is cut off.
    private static let mostWaiting = 4 << 20

    private let socket: FileDescriptor
    private var lines = LineReader(longest: NearbyRequest.limit)
    private var output: [UInt8] = []
    private var isClosing = false
    private(set) var hasEnded = false

    init(_ channel: consuming LineChannel) { socket = channel.release() }

    var raw: Int32 { socket.raw }
    var wantsWrite: Bool { !output.isEmpty }

    /// The requests that have come. What makes no sense is left out.
    func read() -> [NearbyRequest] {
        guard let read = try? lines.read(from: raw, limit: 1 << 16) else {
            hasEnded = true
            return []
        }
        if lines.hasEnded || lines.isTooLong { hasEnded = true }
        return read.compactMap { try? NearbyRequest(jsonLine: $0) }
    }

    func reply(_ reply: NearbyReply) {
        guard let line = try? reply.jsonLine() else { return }
        output += Array("\(line)\n".utf8)
        if output.count > Self.mostWaiting { hasEnded = true }
        flush()
    }

    /// Closes it once all is sent.
    func close() {
        isClosing = true
        flush()
    }

    func flush() {
        do throws(SystemError) { output.removeFirst(try socket.sendAvailable(output[...])) } catch { hasEnded = true }
        if isClosing, output.isEmpty { hasEnded = true }
    }
}
