package import NIOHTTP1
import Synchronization

package struct HTTPRequest: Sendable {
    package var method: HTTPMethod
    /// The path with its percent escapes, without the query.
    package var path: String
    /// The text after the question mark, with its percent escapes.
    package var query: String
    package var headers: HTTPHeaders
    package var body: [UInt8]
    /// The client's address without its port.
    package var client: String
    /// Reports when the client stops waiting for the response.
    package let disconnection = Disconnection()

    /// A request with its target in origin-form or absolute-form (RFC 9112 §3.2). An absolute-form names the host.
    init(_ head: HTTPRequestHead, body: [UInt8], client: String) {
        method = head.method
        headers = head.headers
        var target = head.uri[...]
        if let scheme = ["http://", "https://"].first(where: { target.lowercased().hasPrefix($0) }) {
            let authority = target.dropFirst(scheme.count).prefix { !"/?#".contains($0) }
            headers.replaceOrAdd(name: "Host", value: String(authority))
            target = target[authority.endIndex...]
            if !target.hasPrefix("/") { target = "/" + target }
        }
        target = target.prefix { $0 != "#" }
        path = String(target.prefix { $0 != "?" })
        query = String(target.dropFirst(path.count + 1))
        self.body = body
        self.client = client
    }

    /// The first value of a name in the query, as HTML forms write them; nil if it is missing, or its escapes are
    /// invalid.
    package func queryValue(_ name: String) -> String? {
        for pair in query.split(separator: "&") {
            let sides = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            if sides[0] == name {
                return sides.count < 2 ? "" : String(percentDecoding: sides[1].replacing("+", with: " "))
            }
        }
        return nil
    }

    /// The value of `Content-Type` without parameters, in lower case.
    package var contentType: String? { headers.first(name: "content-type").map { MediaType.name(in: $0) } }

    /// Whether the client accepts a type, such as `application/sdp`.
    package func accepts(_ type: String) -> Bool {
        let ranges = headers[canonicalForm: "accept"].map(String.init)
        return ranges.isEmpty || MediaType.isAccepted(type, by: ranges)
    }
}

/// Reports when a client disconnects while its response is being made.
package final class Disconnection: Sendable {
    private enum State {
        case waiting([@Sendable () -> Void])
        case gone
    }

    private let state = Mutex(State.waiting([]))

    init() {}

    /// Calls back when the client has disconnected, or has closed its sending half; at once if it has already. There is
    /// no call after the response.
    package func notify(_ body: @escaping @Sendable () -> Void) {
        let isGone = state.withLock { state in
            guard case .waiting(let others) = state else { return true }
            state = .waiting(others + [body])
            return false
        }
        if isGone { body() }
    }

    func happen() {
        guard case .waiting(let bodies) = state.withLock({ exchange(&$0, with: .gone) }) else { return }
        for body in bodies { body() }
    }
}

package struct HTTPResponse: Sendable {
    package enum Body: Sendable {
        case bytes([UInt8])
        /// The events of a hub (`text/event-stream`), until the client disconnects.
        case events(EventHub)
    }

    package var status: HTTPResponseStatus
    package var headers: HTTPHeaders
    package var body: Body
    /// Whether the bytes are shared with others, such as those of a file of the program. A client that does not read
    /// them takes no memory then. Bodies with own bytes for each client are limited by `HTTPLimits.unread`.
    package var isBodyShared = false
    /// Whether the body may still be seen; asked before each piece or event leaves. Nil if it always may.
    package var isInSight: (@Sendable () -> Bool)?

    package init(_ status: HTTPResponseStatus, _ headers: HTTPHeaders = [:], body: [UInt8] = []) {
        self.status = status
        self.headers = headers
        self.body = .bytes(body)
    }

    /// A sentence for a person.
    package static func sentence(
        _ status: HTTPResponseStatus,
        _ sentence: String,
        _ headers: HTTPHeaders = [:]
    ) -> HTTPResponse {
        var headers = headers
        headers.add(name: "Content-Type", value: "text/plain; charset=utf-8")
        return HTTPResponse(status, headers, body: Array("\(sentence)\n".utf8))
    }
}

/// Answers a request. Called on the server's thread, it must not block. It calls the completion once, on any thread,
/// before the server is closed.
package typealias HTTPResponder =
    @Sendable (HTTPRequest, _ completion: @escaping @Sendable (HTTPResponse) -> Void) -> Void
