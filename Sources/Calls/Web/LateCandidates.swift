import WebRTC

/// This side's candidates from after the answer to a viewer, until the viewer has asked for them (RFC 8838). Sans-IO.
struct LateCandidates: Sendable {
    /// A waiting request of the viewer. It gets the candidates; nil if there will be none.
    typealias Waiter = @Sendable (TrickleFragment?) -> Void

    private var untold: TrickleFragment?
    /// The request that waits; call it with nil if no more candidates will be found.
    private(set) var waiter: Waiter?
    /// Whether all are found.
    private(set) var isComplete: Bool

    /// - Parameter isComplete: whether the answer had all candidates.
    init(isComplete: Bool) { self.isComplete = isComplete }

    /// Further candidates are found.
    ///
    /// - Returns: the request that waits for them, to be called with `found`; nil if none waits, and they are kept.
    mutating func add(_ found: TrickleFragment) -> Waiter? {
        isComplete = found.isLast
        if let waiter = waiter.take() { return waiter }
        var all = found
        all.candidates = (untold?.candidates ?? []) + found.candidates
        untold = all
        return nil
    }

    /// The candidates that the viewer was not told yet; nil if there are none. They are returned once.
    mutating func take() -> TrickleFragment? { untold.take() }

    /// Lets a request wait for further candidates; `isComplete` must be false.
    ///
    /// - Returns: the request that waited before, to be called with nil.
    mutating func wait(_ next: @escaping Waiter) -> Waiter? { exchange(&waiter, with: next) }
}
