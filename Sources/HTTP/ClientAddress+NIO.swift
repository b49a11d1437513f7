import NIOCore

extension ClientAddress {
    init(_ address: SocketAddress?) {
        let numbers = address?.ipAddress ?? ""
        self.init(numbers.hasPrefix("::ffff:") ? String(numbers.dropFirst("::ffff:".count)) : numbers)
    }
}
