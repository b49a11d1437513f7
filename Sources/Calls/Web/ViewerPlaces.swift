import Posix
import Time

/// The places of a call, and their viewers. Anybody with the link could take all places by offers alone. So a viewer that has not connected
/// gives way to a newcomer of another network, and few viewers of one network connect at once. Sans-IO.
struct ViewerPlaces {
    /// The place that a newcomer gets.
    enum Vacancy: Equatable {
        case free
        /// The place of a viewer that has not connected, by the name of its session.
        case insteadOf(String)
        /// None, as all places are taken.
        case none
        /// None, as `mostWaitingOfOneNetwork` viewers of the newcomer's network have not connected.
        case crowded
    }

    private struct Waiting {
        let id: String
        let network: String
        let since: Instant
    }

    /// A viewer that takes longer to connect gives way to more newcomers of other networks.
    static let connectingTime = Duration.seconds(3)
    /// A viewer that takes longer to connect gives way to newcomers of its own network too. With a relay by TLS, an honest viewer may need
    /// more than `connectingTime`.
    static let connectingTimeAmongOwn = Duration.seconds(10)

    /// The most viewers of one network that have not connected, 16 to 64. Each costs about 0.2 MB. All viewers may be behind one address,
    /// and all come again at once when the sender is started again.
    let mostWaitingOfOneNetwork: Int
    private let limit: Int
    /// The viewers that have not connected, the oldest first.
    private var waiting: [Waiting] = []
    private var connected: Set<String> = []

    init(limit: Int) {
        self.limit = limit
        mostWaitingOfOneNetwork = min(max(16, limit), 64)
    }

    /// The place for a newcomer from an address. If all places are taken, a viewer that has not connected gives way: the oldest one of the
    /// network that has the most of them. It gives way at once to a network that has at least two fewer, and after `connectingTime` to one
    /// that has one fewer.
    func vacancy(for address: String, now: Instant) -> Vacancy {
        let network = ClientAddress(address).network
        let own = waiting.filter { $0.network == network }
        if own.count >= mostWaitingOfOneNetwork {
            return now >= own[0].since + Self.connectingTimeAmongOwn ? .insteadOf(own[0].id) : .crowded
        }
        if waiting.count + connected.count < limit { return .free }
        let others = Dictionary(grouping: waiting.filter { $0.network != network }, by: \.network).values
        let most = others.max { ($0.count, $1[0].since) < ($1.count, $0[0].since) }
        guard let most,
            most.count > own.count + 1 || most.count > own.count && now >= most[0].since + Self.connectingTime
        else {
            return .none
        }
        return .insteadOf(most[0].id)
    }

    /// Whether a viewer that has not connected still has its place.
    func isWaiting(_ id: String) -> Bool { waiting.contains { $0.id == id } }

    /// A viewer has come, and waits until it has connected.
    mutating func take(_ id: String, from address: String, now: Instant) {
        waiting.append(Waiting(id: id, network: ClientAddress(address).network, since: now))
    }

    mutating func connect(_ id: String) {
        waiting.removeAll { $0.id == id }
        connected.insert(id)
    }

    mutating func leave(_ id: String) {
        waiting.removeAll { $0.id == id }
        connected.remove(id)
    }
}
