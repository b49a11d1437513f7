import ArgumentParser
import Calls
import Glibc
import HTTP
import Media
import Peers
import Posix
import Synchronization
import Time

struct JoinedCallOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "A file with the bearer token of the WHIP server, which the environment may give as ORIEL_WHIP_TOKEN instead.",
            valueName: "file"
        )
    )
    var whipTokenFile: String?

    @Option(
        help: ArgumentHelp(
            "A file with the API secret of the Janus server, which the environment may give as ORIEL_JANUS_SECRET instead.",
            valueName: "file"
        )
    )
    var janusSecretFile: String?

    @Option(
        help: ArgumentHelp(
            "A file with a token for the Janus server or its room, which may be in ORIEL_JANUS_TOKEN instead.",
            valueName: "file"
        )
    )
    var janusTokenFile: String?

    @Option(
        help: ArgumentHelp(
            "A file with the PIN of the Janus room, which may be in ORIEL_JANUS_PIN instead.",
            valueName: "file"
        )
    )
    var janusPinFile: String?

    /// - Parameter calls: all calls of the sender.
    func validate(for calls: [Call]) throws {
        for (index, call) in calls.enumerated() where calls[..<index].contains(call) {
            throw ValidationError("\(call) is given twice.")
        }
        let endpoints = calls.compactMap { if case .whip(let endpoint) = $0 { endpoint.origin } else { nil } }
        if Set(endpoints).count > 1, try whipToken() != nil {
            throw ValidationError("a WHIP token is for one server: attach a sender to each.")
        }
        let servers = calls.compactMap { if case .janus(let address) = $0 { address.endpoint } else { nil } }
        if Set(servers).count > 1, try janusSecrets() != JanusSecrets() {
            throw ValidationError("secrets of Janus are for one server: attach a sender to each.")
        }
    }

    /// The secrets for a child process, as variables of its environment: everybody on the machine can read a command line.
    func secrets() throws -> [String: String] {
        let janus = try janusSecrets()
        return [
            "ORIEL_WHIP_TOKEN": try whipToken() ?? "", "ORIEL_JANUS_SECRET": janus.apiSecret ?? "",
            "ORIEL_JANUS_TOKEN": janus.token ?? "", "ORIEL_JANUS_PIN": janus.pin ?? "",
        ]
    }

    /// The token of the WHIP server; nil for none.
    func whipToken() throws -> String? {
        let token = try secret(in: whipTokenFile, or: "ORIEL_WHIP_TOKEN", "token")
        // RFC 6750 §2.1.
        let bytes = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~+/=".utf8)
        guard bytes.isSuperset(of: token?.utf8 ?? "".utf8) else {
            throw ValidationError("the token of the WHIP server has characters that no bearer token has.")
        }
        return token
    }

    /// What lets this side into rooms of Janus.
    func janusSecrets() throws -> JanusSecrets {
        JanusSecrets(
            apiSecret: try secret(in: janusSecretFile, or: "ORIEL_JANUS_SECRET", "API secret"),
            token: try secret(in: janusTokenFile, or: "ORIEL_JANUS_TOKEN", "token"),
            pin: try secret(in: janusPinFile, or: "ORIEL_JANUS_PIN", "PIN")
        )
    }
}

/// Calls that others run, and this sender is in. Each comes, is lost, comes back and ends by itself.
final class JoinedCalls: Sendable {
    private struct State {
        var running: Int
        var failure: CallEnd?
    }

    private final class Shared: Sendable {
        let state: Mutex<State>
        let hasEnded = Bell()

        init(running: Int) { state = Mutex(State(running: running)) }
    }

    private let web: WebClient
    private let calls: [any JoinedCall]
    private let shared: Shared

    /// How long servers get to hear that this side leaves.
    private static let farewellTime = Duration.milliseconds(500)

    /// Begins to join.
    ///
    /// - Parameters:
    ///   - calls: rooms, endpoints of WHIP, and rooms of Janus.
    ///   - areAll: whether the sender has no other calls, and ends with the last of these.
    ///   - receiver: takes what the other member of the room sends.
    ///   - events: is told what happens in them.
    ///   - ended: is called when all of them are over.
    init(
        _ calls: [Call],
        areAll: Bool,
        codecs: [[VideoCodec]],
        _ trust: TLSTrust,
        whipToken: String?,
        janusSecrets: JanusSecrets?,
        receiver: (any FrameReceiver)?,
        to peers: PeerGroup,
        _ events: EventLog,
        ended: @escaping @Sendable () -> Void
    ) {
        let (web, shared) = (WebClient(trust), Shared(running: calls.count))
        (self.web, self.shared) = (web, shared)
        let end = { @Sendable (call: Call, end: CallEnd?) in
            let isLast = shared.state.withLock { state in
                state.running -= 1
                if let end { state.failure = end }
                return state.running == 0
            }
            // The sentence of the last one is the sender's.
            events.tell(.ended(call, end, isTold: !(areAll && isLast)))
            shared.hasEnded.ring()
            if isLast { ended() }
        }
        peers.onAddressChange { web.cutConnections(exceptFrom: $0) }
        self.calls = calls.compactMap { call -> (any JoinedCall)? in
            switch call {
            case .janus(let address):
                JanusCall(to: address, janusSecrets ?? JanusSecrets(), codecs: codecs, by: web, to: peers) {
                    events.tell(CallEvent($0, in: call))
                } ended: {
                    end(call, $0)
                }
            case .room(let address):
                RoomCall(address, codecs: codecs, by: web, to: peers, receiver: receiver) {
                    events.tell(CallEvent($0, in: call))
                } ended: {
                    end(call, $0)
                }
            case .whip(let endpoint):
                WHIPCall(to: endpoint, token: whipToken, codecs: codecs, by: web, to: peers) {
                    events.tell(CallEvent($0, in: call))
                } ended: {
                    end(call, $0)
                }
            case .web, .plainRTP: nil
            }
        }
    }

    var haveEnded: Bool { shared.state.withLock { $0.running == 0 } }

    /// Why the last call has ended; nil if it was left.
    var failure: CallEnd? { shared.state.withLock { $0.failure } }

    /// Leaves all calls; gives servers a moment to hear of it.
    func close() {
        for call in calls { call.close() }
        let deadline: Instant = MonotonicClock.now() + Self.farewellTime
        var rings = shared.hasEnded.count
        while !haveEnded, MonotonicClock.now() < deadline {
            shared.hasEnded.wait(while: rings, until: deadline)
            rings = shared.hasEnded.count
        }
        web.close()
    }
}
