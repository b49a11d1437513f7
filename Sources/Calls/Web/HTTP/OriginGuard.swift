import NIOCore
import NIOHTTP1

/// Decides under which names, and for which pages, a service without a token works.
///
/// Such a service trusts whoever reaches it, and a viewer's browser reaches it for any page that the viewer opens. A
/// page elsewhere that gives its own name this server's address would count as of the same origin; so only names that
/// nobody else can give away are taken.
struct OriginGuard: Sendable {
    /// What the server is called beside its addresses, in lower case.
    let names: [String]

    /// Nil if the request may be answered.
    func refusal(of request: WebRequest) -> WebResponse? {
        let hosts = request.headers["host"]
        guard hosts.count == 1, let host = Self.host(of: hosts[0]), isOwn(host) else {
            return .sentence(.misdirectedRequest, "this name is not the server's: open the page by its address")
        }
        if [.GET, .HEAD, .OPTIONS].contains(request.method) { return nil }
        let isForeign = request.headers["origin"].contains { origin in
            origin.lowercased() != "http://\(hosts[0])".lowercased()
                && origin.lowercased() != "https://\(hosts[0])".lowercased()
        }
        return isForeign ? .sentence(.forbidden, "pages of other origins may change nothing here") : nil
    }

    private func isOwn(_ host: String) -> Bool {
        host == "localhost" || names.contains(host) || (try? SocketAddress(ipAddress: host, port: 0)) != nil
    }

    /// The host of `host`, `host:port` or `[ipv6]:port`, in lower case; nil if it is none.
    private static func host(of authority: String) -> String? {
        if authority.hasPrefix("[") {
            guard let end = authority.firstIndex(of: "]"), isPort(authority[end...].dropFirst()) else { return nil }
            let host = authority[..<end].dropFirst()
            return host.contains(":") ? host.lowercased() : nil
        }
        let host = authority.prefix { $0 != ":" }
        return isPort(authority.dropFirst(host.count)) ? host.lowercased() : nil
    }

    /// Nothing, or a colon and digits.
    private static func isPort(_ text: Substring) -> Bool {
        text.isEmpty || (text.first == ":" && text.dropFirst().utf8.allSatisfy { 0x30...0x39 ~= $0 })
    }
}
