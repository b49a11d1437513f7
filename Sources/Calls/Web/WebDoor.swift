import Access
import HTTP
import NIOHTTP1

/// Finds the link by which a request comes, and whether that still opens anything.
struct WebDoor: Sendable {
    enum Entry {
        case open(AccessEngine.Link)
        case closed(HTTPResponse)
    }

    private let access: AccessControl

    init(_ access: AccessControl) { self.access = access }

    /// - Parameter isForSession: whether the request is about a session that there is. A viewer may change and end its session by the
    ///   session's name, without the token: some players leave the token out there.
    func entry(of request: HTTPRequest, isForSession: Bool) -> Entry {
        let authorization = request.headers.first(name: "authorization")
        if authorization == nil, isForSession { return .open(.common) }
        let decision = access.atGate { gate, now in
            gate.token.check(
                authorization,
                from: request.client,
                hash: { InviteToken($0).hash },
                now: now
            )
        }
        switch decision {
        case .allowed: return .open(.common)
        case .invited(let number): return entry(of: request.guestKey, byInvite: number)
        case .wrongToken: return .closed(Self.wrongLink)
        case .tooManyWrong(let seconds):
            let headers: HTTPHeaders = ["Retry-After": "\(seconds)"]
            return .closed(.sentence(.tooManyRequests, "too many wrong links came from here", headers))
        }
    }

    private func entry(of key: GuestKey?, byInvite number: Int) -> Entry {
        switch access.read({ $0.entry(key, by: .invite(number)) }) {
        case .granted: .open(.invite(number))
        case .taken:
            .closed(.sentence(.forbidden, "this link is for one person, who has come", ["Oriel-Reason": "link_taken"]))
        case .over, .mustKnock: .closed(Self.wrongLink)
        }
    }

    private static var wrongLink: HTTPResponse {
        .sentence(.unauthorized, "the link is not right: ask for a new one", ["WWW-Authenticate": "Bearer"])
    }

    /// Whether the viewer need not knock, or was let in.
    func isLetIn(_ request: HTTPRequest, by link: AccessEngine.Link) -> Bool {
        let key = request.guestKey
        if case .granted = access.read({ $0.entry(key, by: link) }) { return true }
        return false
    }
}
