import ArgumentParser
import Calls
import HTTP
import Media
import Peers
import Posix
import Synchronization
import Time

struct RoomOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "A certificate to trust beside those of the system, as PEM: of a server, or of an authority.",
            valueName: "file"
        )
    )
    var trust: String?
}

/// Rooms that this sender is in. Each comes, is lost, comes back and ends by itself.
final class JoinedRooms: Sendable {
    private struct State {
        var running: Int
        var failure: RoomCall.End?
    }

    private let web: WebClient
    private let calls: [RoomCall]
    private let state: Shared
    private let hasLeft: Bell

    private final class Shared: Sendable {
        let state: Mutex<State>
        init(_ state: State) { self.state = Mutex(state) }
    }

    /// Begins to join.
    ///
    /// - Parameter ended: is called when all calls are over.
    init(
        _ addresses: [RoomAddress],
        codecs: [[VideoCodec]],
        _ trust: TLSTrust,
        to peers: PeerGroup,
        ended: @escaping @Sendable () -> Void
    ) {
        let (web, state, hasLeft) = (WebClient(trust), Shared(State(running: addresses.count)), Bell())
        (self.web, self.state, self.hasLeft) = (web, state, hasLeft)
        calls = addresses.map { address in
            RoomCall(address, codecs: codecs, by: web, to: peers) { event in
                Console.note("\(address): \(event)")
            } ended: { end in
                let isLast = state.state.withLock { state in
                    state.running -= 1
                    if let end { state.failure = end }
                    return state.running == 0
                }
                if let end, !(isLast && addresses.count == 1) { Console.note("\(end)") }
                hasLeft.ring()
                if isLast { ended() }
            }
        }
    }

    var haveEnded: Bool { state.state.withLock { $0.running == 0 } }

    /// Why the last call has ended; nil if it was left.
    var failure: RoomCall.End? { state.state.withLock { $0.failure } }

    /// Leaves all rooms; gives servers a moment to hear of it.
    func close() {
        for call in calls { call.close() }
        let deadline: Instant = MonotonicClock.now() + .milliseconds(500)
        while !haveEnded, MonotonicClock.now() < deadline {
            let rings = hasLeft.count
            if haveEnded { break }
            hasLeft.wait(while: rings, until: deadline)
        }
        web.close()
    }
}
