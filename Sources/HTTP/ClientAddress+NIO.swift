import NIOCore
import Posix

extension ClientAddress {
    init(_ address: NIOCore.SocketAddress?) {
        let numbers = address?.ipAddress ?? ""
        self.init(numbers.hasPrefix("::ffff:") ? String(numbers.dropFirst("::ffff:".count)) : numbers)
    }
}
