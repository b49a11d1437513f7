import Glibc
package import Posix

/// A response as it came over the wire.
package struct ReceivedResponse {
    package let status: Int
    /// In the order they came, names in lower case.
    package let fields: [(name: String, value: String)]
    package var body: [UInt8]

    package subscript(name: String) -> String? { fields.first { $0.name == name }?.value }
    package func all(_ name: String) -> [String] { fields.filter { $0.name == name }.map(\.value) }
    package var text: String { String(decoding: body, as: UTF8.self) }
}

/// What a peer said is no HTTP, or ended too soon.
package struct BrokenHTTP: Error {
    package init() {}
}

/// A TCP connection to a port of the loopback that speaks HTTP/1.1 byte by byte.
package final class HTTPClient {
    package let descriptor: FileDescriptor
    private var buffer: [UInt8] = []

    /// - Parameter network: the client's address, any that begins with 127: each is a network of its own to a server.
    package convenience init(port: UInt16, from network: String = "127.0.0.1") throws {
        let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        let descriptor = FileDescriptor(taking: try check("socket") { socket(AF_INET, kind, 0) })
        let raw = descriptor.raw
        func call(_ name: String, _ address: sockaddr_in, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) throws
        {
            try check(name) {
                withUnsafePointer(to: address) {
                    $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                        body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
                    }
                }
            }
        }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr(network)
        try call("bind", address) { bind(raw, $0, $1) }
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        try call("connect", address) { connect(raw, $0, $1) }
        self.init(descriptor)
    }

    /// - Parameter descriptor: a socket that is connected.
    package init(_ descriptor: consuming FileDescriptor) {
        self.descriptor = descriptor
        // Only keeps a broken test from hanging.
        var limit = timeval(tv_sec: Int(patience.components.seconds), tv_usec: 0)
        setsockopt(self.descriptor.raw, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    }

    /// Sends bytes as they are. A server that has hung up already is none of the sender's business.
    package func send(_ bytes: [UInt8]) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                Glibc.send(descriptor.raw, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            if count <= 0 { return }
            rest = rest.dropFirst(count)
        }
    }

    package func send(_ text: String) { send(Array(text.utf8)) }

    /// No more will be sent.
    package func finish() { shutdown(descriptor.raw, Int32(SHUT_WR)) }

    package func request(
        _ method: String,
        _ path: String,
        _ fields: [String] = [],
        body: String? = nil
    ) throws -> ReceivedResponse {
        var lines = ["\(method) \(path) HTTP/1.1"] + fields
        if !fields.contains(where: { $0.hasPrefix("Host:") }) { lines.append("Host: localhost") }
        if let body { lines.append("Content-Length: \(body.utf8.count)") }
        send(lines.joined(separator: "\r\n") + "\r\n\r\n" + (body ?? ""))
        return try response(hasBody: method != "HEAD")
    }

    /// The next response.
    package func response(hasBody: Bool = true) throws -> ReceivedResponse {
        let head = String(decoding: try take(through: "\r\n\r\n"), as: UTF8.self).split(separator: "\r\n")
        let words = head[0].split(separator: " ")
        guard words.count >= 2, words[0] == "HTTP/1.1", let status = Int(words[1]) else { throw BrokenHTTP() }
        let fields = try head.dropFirst().map { line in
            guard let colon = line.firstIndex(of: ":") else { throw BrokenHTTP() }
            return (
                name: line[..<colon].lowercased(),
                value: String(line[line.index(after: colon)...].drop { $0 == " " })
            )
        }
        var response = ReceivedResponse(status: status, fields: fields, body: [])
        if hasBody, let length = response["content-length"].flatMap({ Int($0) }) {
            response.body = try take(length)
        }
        return response
    }

    /// The next chunk of a body that comes in chunks.
    package func chunk() throws -> String {
        let size = String(decoding: try take(through: "\r\n").dropLast(2), as: UTF8.self)
        guard let size = Int(size, radix: 16) else { throw BrokenHTTP() }
        return String(decoding: try take(size + 2).dropLast(2), as: UTF8.self)
    }

    /// The next event of a stream that comes in chunks, without the signs of life before it.
    package func event() throws -> String {
        while true {
            let text = try chunk()
            if !text.hasPrefix(":") { return text }
        }
    }

    /// As many of the next bytes.
    package func read(_ count: Int) throws -> [UInt8] { try take(count) }

    /// All that comes until the server hangs up, or up to a mark.
    package func rest(through mark: String? = nil) throws -> [UInt8] {
        while try fill() {
            if let mark, String(decoding: buffer, as: UTF8.self).contains(mark) { break }
        }
        defer { buffer.removeAll() }
        return buffer
    }

    private func take(_ count: Int) throws -> [UInt8] {
        while buffer.count < count { guard try fill() else { throw BrokenHTTP() } }
        defer { buffer.removeFirst(count) }
        return Array(buffer[..<count])
    }

    private func take(through mark: String) throws -> [UInt8] {
        let mark = Array(mark.utf8)
        while true {
            if let start = buffer.indices.first(where: { buffer[$0...].starts(with: mark) }) {
                return try take(start + mark.count)
            }
            guard try fill() else { throw BrokenHTTP() }
        }
    }

    /// Waits for more. Returns false when no more will come.
    private func fill() throws -> Bool {
        var bytes = [UInt8](repeating: 0, count: 65536)
        let count = recv(descriptor.raw, &bytes, bytes.count, 0)
        if count < 0, errno == EAGAIN { throw BrokenHTTP() }
        if count <= 0 { return false }
        buffer += bytes[..<count]
        return true
    }
}
