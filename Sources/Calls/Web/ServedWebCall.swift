import Access
package import HTTP
import Media
import Posix
import Time

package struct WebSettings: Sendable {
    package var listen: ListenAddress
    /// The certificate in use; nil for HTTP.
    package var tls: (@Sendable () -> TLSIdentity)?
    /// The addresses of web proxies in front of the server.
    package var proxies: [AddressRange] = []
    /// Names by which viewers reach the server, beside its addresses.
    package var names: [String] = []
    /// The origins whose pages may use the service without a token.
    package var origins: [WebOrigin] = []
    /// `Link` values for viewers (draft-ietf-wish-whep-04 §4.6), such as `<stun:stun.example.net>; rel="ice-server"`. Called for each viewer, as
    /// logins may expire.
    package var iceServerLinks: @Sendable () -> [String] = { [] }
    package var viewerLimit = 50
    package var snapshots: WebService.SnapshotSource
    package var recorders: RecorderDesk
    package var commands = CommandDesk()
    /// For viewers; it counts them too.
    package var status: WebStatus
    /// Gets the server's port.
    package var opened: @Sendable (UInt16) -> Void = { _ in }

    package init(
        listen: ListenAddress,
        snapshots: WebService.SnapshotSource,
        recorders: RecorderDesk,
        status: WebStatus
    ) {
        (self.listen, self.snapshots, self.recorders, self.status) = (listen, snapshots, recorders, status)
    }
}

/// A web call with its web server.
final class ServedWebCall: Call {
    private let host: CallHost
    private let status: WebStatus
    private let server: HTTPServer
    private let service: WebService
    private let listener: HTTPServer.Listener

    init(_ settings: WebSettings, in host: CallHost) throws {
        let status = settings.status
        (self.host, self.status) = (host, status)
        var counting = host
        counting.report = { report in
            host.report(report)
            status.note(report)
        }
        let call = try WebCall(in: counting, viewerLimit: settings.viewerLimit)
        server = HTTPServer(
            limits: HTTPLimits(files: FileLimit.raise(), viewers: settings.viewerLimit),
            proxies: settings.proxies
        )
        service = WebService(settings, call: call)
        listener = try server.listen(on: settings.listen, tls: settings.tls, respond: service.respond)
        host.report(CallReport(.standing(nil)))
        settings.opened(listener.port)
    }

    /// The time of leases counts.
    func slept(for time: Duration) {
        host.access.change { engine, _ in engine.noteSleep(MonotonicClock.suspendedTime()) }
    }

    /// Takes no more viewers. The present ones leave with the peers. The server ends after them, as its thread sends the last answers.
    func close() {
        status.note(.stopped)
        listener.close()
        service.close()
        host.network.afterPeers { [host, server] in
            server.close()
            host.report(.ended(nil))
        }
    }
}

extension CallPlan {
    /// A call for browsers of a sender that cannot begin one: for command lines.
    package static let web = CallPlan.web(nil)

    fileprivate static func web(_ settings: WebSettings?) -> CallPlan {
        var plan = CallPlan("web", "web") { given in
            guard let settings, given.isOfStart else {
                throw CallEnd(
                    .failed,
                    "a sender that runs does not begin to serve web: attach another with \"oriel attach web\""
                )
            }
            return { host in try ServedWebCall(settings, in: host) }
        }
        plan.listens = true
        plan.refusalToLeave = "the call web ends with its sender only: \"oriel kick\" sends viewers away"
        return plan
    }
}

extension CallKind {
    /// Browsers, and players that speak WHEP.
    ///
    /// - Parameter settings: nil for a sender without a web call.
    package static func web(_ settings: WebSettings? = nil) -> CallKind {
        CallKind(form: "web") { text in text == "web" ? .web(settings) : nil }
    }
}

extension HTTPLimits {
    /// Limits for the server of a web call: the connections that a process can spare beside the media, 64 to 4096, and memory for unread
    /// responses. A page keeps one connection and opens another now and then, and all may come through one proxy. All viewers may load the
    /// page at once, and a slow one has a piece of 64 KB of it unread.
    ///
    /// - Parameter files: descriptors that the process may have open.
    package init(files: Int, viewers: Int) {
        self.init()
        connections = min(max(files - 128 - 8 * viewers, 64), 4096)
        connectionsOfOneNetwork = max(64, 2 * viewers)
        unread = max(4 << 20, viewers * (64 << 10))
    }
}
