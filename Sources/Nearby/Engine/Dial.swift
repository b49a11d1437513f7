import Discovery
import Time

/// The places of one device, tried one after the other until one of them is the device (RFC 8305 §5). Sans-IO.
struct Dial {
    static let stagger = Duration.milliseconds(250)
    /// Of a device that others announce under its name, too.
    static let mostPlaces = 16

    private var rest: [Endpoint]
    private var seen: Set<Endpoint> = []
    /// The numbers of the links that are being made.
    private(set) var running: Set<Int> = []
    /// When the next place is tried; nil if none is left.
    private(set) var nextAt: Instant?

    /// - Parameter places: the best one first.
    init(_ places: [Endpoint], at now: Instant) {
        rest = []
        add(places, at: now)
    }

    /// Further places, which are tried next.
    mutating func add(_ places: [Endpoint], at now: Instant) {
        let new = places.filter { !seen.contains($0) }.prefix(max(0, Self.mostPlaces - seen.count))
        for place in new where seen.insert(place).inserted { rest.append(place) }
        if !new.isEmpty { nextAt = nextAt.map { min($0, now) } ?? now }
    }

    var hasFailed: Bool { rest.isEmpty && running.isEmpty }

    /// - Returns: nil if none is due.
    mutating func next(at now: Instant) -> Endpoint? {
        guard let due = nextAt, now >= due else { return nil }
        defer { nextAt = rest.isEmpty ? nil : now + Self.stagger }
        return rest.removeFirst()
    }

    mutating func noteStart(of number: Int) { running.insert(number) }

    /// A place was not the device, or could not be reached.
    mutating func noteEnd(of number: Int, at now: Instant) {
        guard running.remove(number) != nil, nextAt != nil else { return }
        nextAt = now
    }
}
