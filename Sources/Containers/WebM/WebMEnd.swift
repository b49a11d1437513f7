/// The last picture of a file, and the elements after it. At the end, the picture gets a duration: without one, Chromium and Firefox take the
/// file for shorter than it is.
struct WebMTail {
    let offset: UInt64
    /// ms since the beginning of the file.
    let time: Int64
    private let block: WebMBlock
    private let frame: [UInt8]
    private(set) var following: [UInt8] = []

    /// - Parameter offset: of the block's element.
    init(_ block: WebMBlock, _ frame: [UInt8], time: Int64, at offset: UInt64) {
        (self.block, self.frame, self.time, self.offset) = (block, frame, time, offset)
    }

    mutating func append(_ head: [UInt8], _ frame: [UInt8]) {
        following += head
        following += frame
    }

    /// Replaces all from `offset` on.
    ///
    /// - Parameter end: ms since the beginning of the file, until which the picture is shown.
    func bytes(until end: Int64) -> [UInt8] {
        var file = EBMLWriter()
        block.writeGroup(frame, duration: end - time, into: &file)
        return file.bytes + following
    }
}

/// What makes a file whole.
package struct WebMEnd: Equatable {
    /// From here on, the file has other bytes.
    package let offset: UInt64
    package let bytes: [UInt8]
    /// For other places, after `bytes`.
    package let patches: [WebMPatch]
    /// ms.
    package let duration: Int64

    /// - Parameters:
    ///   - tail: nil if the last cluster has no picture.
    ///   - cluster: the offset of the last one.
    ///   - position: the end of its last element.
    ///   - duration: ms.
    ///   - patches: more of them.
    init(
        _ layout: WebMHead,
        _ cues: WebMCues,
        tail: WebMTail?,
        cluster: UInt64,
        position: UInt64,
        duration: Int64,
        patches: [WebMPatch] = []
    ) {
        // A tail that begins in an earlier cluster would have a cluster in it, whose place would change.
        let tail = tail.flatMap { $0.offset > cluster ? $0 : nil }
        let last = tail?.bytes(until: duration) ?? []
        let index = cues.bytes
        offset = tail?.offset ?? position
        let cuesAt = offset + UInt64(last.count)
        let end = cuesAt + UInt64(index.count)
        bytes = last + index
        self.duration = duration
        self.patches =
            patches + [WebMCluster.size(at: cluster, until: cuesAt)]
            + layout.patches(cuesAt: index.isEmpty ? nil : cuesAt, end: end, duration: Double(duration))
    }
}
