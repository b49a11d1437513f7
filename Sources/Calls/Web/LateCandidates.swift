import WebRTC

/// This side's candidates that are found after a viewer's offer was answered, until the viewer has asked for them (RFC 8838). Sans-IO.
struct LateCandidates: Sendable {
    /// Gets what was found; nil if it waits no more.
    typealias Waiter = @Sendable (TrickleFragment?) -> Void

    private var untold: TrickleFragment?
    private var waiter: Waiter?
    /// Whether all are found.
    private(set) var isComplete: Bool

    /// - Parameter isComplete: whether the answer had all candidates.
    init(isComplete: Bool) { self.isComplete = isComplete }

    /// Further candidates are found.
    ///
    /// - Returns: who waits for them.
    mutating func add(_ found: TrickleFragment) -> Waiter? {
        isComplete = found.isLast
        if let waiter = waiter.take() { return waiter }
        var all = found
        all.candidates = (untold?.candidates ?? []) + found.candidates
        untold = all
        return nil
    }

    /// What the viewer was not told yet; nil if that is nothing. The answer is given once.
    mutating func take() -> TrickleFragment? { untold.take() }

    /// Waits for more, of which there must be some.
    ///
    /// - Returns: who has waited so far.
    mutating func wait(_ next: @escaping Waiter) -> Waiter? {
        defer { waiter = next }
        return waiter
    }

    /// All that is found was told otherwise.
    mutating func forget() { untold = nil }

    /// Nothing more is found.
    ///
    /// - Returns: who waits in vain.
    mutating func end() -> Waiter? { waiter.take() }
}
