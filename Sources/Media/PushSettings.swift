/// What of a broadcast goes to servers of segments, and how.
package struct PushSettings: Codable, Equatable, Sendable {
    /// In ms.
    package static let segmentLengths = 500...65_500
    /// In seconds.
    package static let lifetimes = 1...31_536_000

    package var segmentMs = 4000
    /// Nil to push everything.
    package var clips: ClipSettings?
    /// After this time the call ends; nil for never.
    package var lifetimeS: Int?

    package init() {}

    /// The first field that is out of its range; nil if none is.
    package var problem: FieldProblem? {
        if !(Self.segmentLengths ~= segmentMs) {
            return FieldProblem("segment_ms", "is \(segmentMs)", Self.segmentLengths)
        }
        if let lifetimeS, !(Self.lifetimes ~= lifetimeS) {
            return FieldProblem("lifetime_s", "is \(lifetimeS)", Self.lifetimes)
        }
        return clips?.problem
    }
}
