/// The address of a server: `PORT`, `HOST:PORT` or `[IPV6]:PORT`.
package struct ListenAddress: Equatable, Sendable, CustomStringConvertible {
    /// A name or address; nil for all addresses of the machine.
    package let host: String?
    /// 0 lets the system choose.
    package let port: UInt16

    package init(host: String?, port: UInt16) {
        self.host = host
        self.port = port
    }

    package init?(parsing text: String) {
        let digits = text.split(separator: ":", omittingEmptySubsequences: false).last ?? ""
        guard digits.allSatisfy(\.isWholeNumber), let port = UInt16(digits) else { return nil }
        let head = text.dropLast(text.reversed().prefix { $0 != ":" }.count)
        if head.isEmpty {
            self.init(host: nil, port: port)
            return
        }
        var host = head.dropLast()
        if host.hasPrefix("["), host.hasSuffix("]") {
            host = host.dropFirst().dropLast()
        } else if host.contains(":") {
            return nil
        }
        if host.isEmpty { return nil }
        self.init(host: host == "*" ? nil : String(host), port: port)
    }

    /// The form that is parsed.
    package var spelling: String { host == nil ? "\(port)" : description }

    package var description: String {
        guard let host else { return "port \(port)" }
        return host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
    }
}
