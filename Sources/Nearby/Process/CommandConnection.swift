import Helpers
import JSON
import Posix

/// The connection of a command: requests and answers, a line each.
final class CommandConnection {
    /// Bytes that wait for a command. One that takes nothing is cut off.
    private static let mostWaiting = 4 << 20
    /// That wait for their requests.
    private static let mostFiles = 16

    private let socket: FileDescriptor
    private var lines = LineReader(longest: NearbyRequest.limit)
    /// Descriptors that came, for the requests that need one.
    private var files: [GivenFile] = []
    private var output: [UInt8] = []
    private var isClosing = false
    private(set) var hasEnded = false

    init(_ channel: consuming LineChannel) { socket = channel.release() }

    var raw: Int32 { socket.raw }
    var wantsWrite: Bool { !output.isEmpty }

    /// The requests that have come, each with its file. What makes no sense is left out.
    func read() -> [(request: NearbyRequest, file: GivenFile?)] {
        let received: (bytes: [UInt8], descriptor: Int32?)?
        do throws(SystemError) { received = try socket.receive(limit: 1 << 16) } catch {
            hasEnded = true
            return []
        }
        guard let received else { return [] }
        if let descriptor = received.descriptor { files.append(GivenFile(FileDescriptor(taking: descriptor))) }
        let read = lines.take(received.bytes)
        if received.bytes.isEmpty || lines.isTooLong || files.count > Self.mostFiles { hasEnded = true }
        return read.compactMap { try? NearbyRequest(jsonLine: $0) }.map { request in
            guard case .sendFile = request, !files.isEmpty else { return (request, nil) }
            return (request, files.removeFirst())
        }
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
