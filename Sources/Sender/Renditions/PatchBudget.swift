import Time

/// Decides which changes are sent as patches: small ones within their part of the bitrate. Sans-IO: instants come from
/// outside.
///
/// All patches have one fine quantizer, and rate control does not know of them.
struct PatchBudget {
    /// Above this many macroblocks, motion compensation and rate control are worth their price.
    static let mostBlocks = 400
    /// The longest time for which credit is saved.
    private static let burst = Duration.milliseconds(250)
    /// About the bytes of a polished macroblock.
    private static let polishedBytes = 64.0
    /// The most scrolled macroblocks that one patch refines.
    private static let mostRefined = 60

    private var bytesPerSecond: Double
    /// Bytes that may be sent, as of `updatedAt`.
    private var credit: Double
    private var updatedAt: Instant?

    /// - Parameter bitrate: of the whole stream, in bits a second.
    init(bitrate: Int) {
        bytesPerSecond = Double(bitrate) / 8
        credit = bytesPerSecond * Self.burst.seconds
    }

    /// Changes the bitrate of the whole stream, in bits a second. Saved credit is kept up to the new limit.
    mutating func setBitrate(_ bitrate: Int) { bytesPerSecond = Double(bitrate) / 8 }

    /// The most bytes of a patch of `blocks` macroblocks; nil if a patch is not worth it.
    mutating func limit(_ blocks: Int, at now: Instant) -> Int? {
        update(now)
        // A patch without macroblocks is the smallest frame that keeps the stream alive.
        if blocks == 0 { return .max }
        return blocks <= Self.mostBlocks && credit > most / 4 ? Int(credit) : nil
    }

    /// The number of macroblocks that a patch may polish, to keep about within the limit.
    mutating func mostPolished(at now: Instant) -> Int {
        update(now)
        return Int(max(credit, 0) / Self.polishedBytes)
    }

    /// The number of moved macroblocks that a patch may refine, besides the changed ones. Half of the largest credit is
    /// left for later changes.
    mutating func mostRefined(beside blocks: Int, at now: Instant) -> Int {
        update(now)
        let affordable = Int(max(credit - most / 2, 0) / Self.polishedBytes)
        return min(affordable, Self.mostRefined, max(0, Self.mostBlocks - blocks))
    }

    private var most: Double { bytesPerSecond * Self.burst.seconds }

    private mutating func update(_ now: Instant) {
        credit = min(most, credit + bytesPerSecond * max(0, (now - (updatedAt ?? now)).seconds))
        updatedAt = now
    }

    mutating func note(_ byteCount: Int) { credit -= Double(byteCount) }
}
