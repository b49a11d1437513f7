/// Finds out how a file of `WebMWriter` that was torn off becomes whole. Sans-IO: it asks for bytes of the file.
///
/// What is not whole at the end is lost, and nothing else. A file of another writer is refused. Work and memory have limits, whatever the
/// file has.
package struct WebMRepair {
    package enum Outcome: Equatable {
        case torn(WebMEnd)
        /// It ends as it should already.
        case whole
        /// There is no picture in it.
        case empty
        /// It is no file of Oriel's, or its beginning is damaged. It stays as it is.
        case foreign
    }

    /// Of the last picture. A longer one gets no duration.
    private static let longestFrame: UInt64 = 32 << 20

    private var scanner: WebMScanner
    private var cues = WebMCues()
    private var last: WebMScanner.Cluster?
    /// Of clusters that have none.
    private var sizes: [WebMPatch] = []
    /// The last picture of the last cluster: its element and what is before its frame.
    private var picture: (offset: UInt64, element: EBMLElement, block: WebMBlock, time: Int64)?
    /// ms; the end of what is shown and heard.
    private var time: Int64 = 0

    /// - Parameter length: of the file.
    package static func outcome(length: UInt64, read: @escaping FileReading) throws -> Outcome {
        var repair = WebMRepair(scanner: WebMScanner(length: length, read: read))
        return try repair.run()
    }

    private init(scanner: WebMScanner) { self.scanner = scanner }

    private mutating func run() throws -> Outcome {
        guard let head = try scanner.head() else { return .foreign }
        var position = head.endAt
        while let cluster = try scanner.cluster(at: position) {
            if cluster.beginsWithKeyframe { cues.add(cluster.timestamp, at: cluster.offset - head.contentAt) }
            (last, picture) = (cluster, nil)
            if let end = cluster.end, try scanner.cluster(at: end) != nil {
                position = end
                continue
            }
            // Only in the last cluster do the frames themselves matter.
            position = cluster.framesAt
            while let next = try readFrame(at: position, start: cluster.timestamp) { position = next }
            // One whose size was lost with the power.
            if cluster.end == nil { sizes.append(WebMCluster.size(at: cluster.offset, until: position)) }
        }
        guard let last else { return .empty }
        // A recording begins with a keyframe.
        guard !cues.isEmpty else { return .foreign }
        if let element = try scanner.element(at: position), element.is(.cues), try isWhole(head) { return .whole }
        var tail: WebMTail?
        if let picture, let size = picture.element.size, size <= Self.longestFrame {
            let content = picture.offset + UInt64(picture.element.headLength)
            let after = content + size
            let frame = try scanner.read(content + UInt64(WebMBlock.length), Int(size) - WebMBlock.length)
            // Sound between two pictures, which are 2 s apart at most.
            let following = try scanner.read(after, Int(min(position - after, Self.longestFrame)))
            tail = WebMTail(picture.block, frame, time: picture.time, at: picture.offset)
            tail?.append(following, [])
        }
        let end = WebMEnd(
            head,
            cues,
            tail: tail,
            cluster: last.offset,
            position: position,
            duration: max(time, (picture?.time ?? 0) + 1),
            patches: sizes
        )
        return .torn(end)
    }

    /// Whether the places at the beginning have been filled in.
    private mutating func isWhole(_ head: WebMHead) throws -> Bool {
        guard let duration = try scanner.element(at: head.durationAt),
            let seekHead = try scanner.element(at: head.seekHeadAt)
        else {
            return false
        }
        let size = try scanner.read(head.segmentSizeAt, EBMLWriter.openSizeLength)
        return duration.is(.duration) && seekHead.is(.seekHead) && size != EBMLWriter.unknownSize
    }

    /// Returns where the element ends; nil if there is none of a cluster, or a part of one.
    private mutating func readFrame(at offset: UInt64, start: Int64) throws -> UInt64? {
        guard let element = try scanner.element(at: offset), let size = element.size,
            let next = scanner.whole(size, from: offset + UInt64(element.headLength))
        else { return nil }
        if element.is(.void), size == 0 {
            time += 1000
            return next
        }
        guard let block = try scanner.block(at: offset)?.block else { return nil }
        let blockTime = start + Int64(block.time)
        switch block.track {
        case .picture where element.is(.blockGroup):
            // The end had begun to be written.
            picture = nil
            time = max(time, blockTime + (try scanner.duration(ofGroup: element, at: offset)?.ms ?? 1))
        case .picture:
            picture = (offset, element, block, blockTime)
            time = max(time, blockTime)
        case .sound: time = max(time, blockTime + 20)
        }
        return next
    }
}
