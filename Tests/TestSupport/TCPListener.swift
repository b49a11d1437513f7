import Glibc
import Posix

/// Takes connections at a port of the loopback, to be served byte by byte.
package final class TCPListener {
    package let port: UInt16
    private let descriptor: FileDescriptor

    package init() throws {
        let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        descriptor = FileDescriptor(taking: try check("socket") { socket(AF_INET, kind, 0) })
        let raw = descriptor.raw
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        try withUnsafeMutablePointer(to: &address) {
            try $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                try check("bind") { bind(raw, address, size) }
                try check("getsockname") { getsockname(raw, address, &size) }
            }
        }
        port = UInt16(bigEndian: address.sin_port)
        try check("listen") { listen(raw, 64) }
    }

    /// Waits for the next connection.
    package func accept() throws -> HTTPClient {
        let raw = descriptor.raw
        return HTTPClient(FileDescriptor(taking: try check("accept") { Glibc.accept(raw, nil, nil) }))
    }
}
