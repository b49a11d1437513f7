import NIOCore
import NIOHTTP1

/// Decides for which names, and for which pages, a service without a token works.
///
/// Such a service trusts all clients that reach it, and a user's browser reaches it for any page that the user opens. A
/// page elsewhere whose own name resolves to this server's address would count as of the same origin. So only names
/// that nobody else can give away are accepted.
package struct OriginGuard: Sendable {
    /// The server's names besides its addresses, in lower case.
    private let names: Set<String>
    private let allowed: Set<WebOrigin>

    /// - Parameters:
    ///   - names: names of the server besides its addresses and `localhost`, in any case.
    ///   - allowed: origins whose pages have the rights of the server's own pages. A proxy may serve the server's pages
    ///     under such an origin, so its host is a name of this server too.
    package init(names: [String], allowed: [WebOrigin]) {
        self.names = Set(names.map { $0.lowercased() } + allowed.map(\.host))
        self.allowed = Set(allowed)
    }

    /// Nil if the request may be answered; otherwise 421 for a name that is not the server's (RFC 9110 §15.5.20), or
    /// 403 for a page of another origin that would change something.
    package func refusal(of request: HTTPRequest) -> HTTPResponse? {
        let hosts = request.headers["host"]
        guard hosts.count == 1, let authority = WebAuthority(parsing: hosts[0]), isOwn(authority.host) else {
            return .sentence(.misdirectedRequest, "this name is not the server's: open the page by its address")
        }
        if [.GET, .HEAD, .OPTIONS].contains(request.method) { return nil }
        let own = ["http", "https"].compactMap { WebOrigin(parsing: "\($0)://\(hosts[0])") }
        let isForeign = request.headers["origin"].contains { text in
            WebOrigin(parsing: text).map { !own.contains($0) && !allowed.contains($0) } ?? true
        }
        return isForeign ? .sentence(.forbidden, "pages of other origins may change nothing here") : nil
    }

    package func allowedOrigin(of request: HTTPRequest) -> String? {
        let origins = request.headers["origin"]
        guard origins.count == 1, let origin = WebOrigin(parsing: origins[0]), allowed.contains(origin) else {
            return nil
        }
        return origins[0]
    }

    private func isOwn(_ host: String) -> Bool {
        host == "localhost" || names.contains(host) || (try? SocketAddress(ipAddress: host, port: 0)) != nil
    }
}
