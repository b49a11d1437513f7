/// Finds out how a file of `WebMWriter` that was torn off becomes whole. Sans-IO: it asks for bytes of the file.
///
/// What is not whole at the end is lost, and nothing else. A file of another writer is refused. Work and memory have limits, whatever the
/// file has.
package struct WebMRepair {
    /// Reads bytes of the file from an offset on; fewer at its end.
    package typealias Reading = (_ offset: UInt64, _ count: Int) throws -> [UInt8]

    package enum Outcome: Equatable {
        case torn(WebMEnd)
        /// It ends as it should already.
        case whole
        /// There is no picture in it.
        case empty
        /// It is no file of Oriel's, or its beginning is damaged. It stays as it is.
        case foreign
    }

    private static let headLength = 4096
    /// Bytes of one reading.
    private static let window = 65_536
    /// Of the last picture. A longer one gets no duration.
    private static let longestFrame: UInt64 = 32 << 20

    private let read: Reading
    private let length: UInt64
    /// What was read last.
    private var buffer: (offset: UInt64, bytes: [UInt8]) = (0, [])
    private var cues = WebMCues()
    private var last: Cluster?
    /// Of clusters that have none.
    private var sizes: [WebMPatch] = []
    /// The last picture of the last cluster: its element and what is before its frame.
    private var picture: (offset: UInt64, element: EBMLElement, block: WebMBlock, time: Int64)?
    /// ms; the end of what is shown and heard.
    private var time: Int64 = 0

    /// - Parameter length: of the file.
    package static func outcome(length: UInt64, read: @escaping Reading) throws -> Outcome {
        var repair = WebMRepair(read: read, length: length)
        return try repair.run()
    }

    private init(read: @escaping Reading, length: UInt64) { (self.read, self.length) = (read, length) }

    private mutating func run() throws -> Outcome {
        guard let head = WebMHead(try read(0, Self.headLength)) else { return .foreign }
        var position = head.endAt
        while let cluster = try cluster(at: position) {
            if cluster.beginsWithKeyframe { cues.add(cluster.timestamp, at: cluster.offset - head.contentAt) }
            (last, picture) = (cluster, nil)
            if let end = cluster.end, try self.cluster(at: end) != nil {
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
        if let element = try element(at: position), element.is(.cues), try isWhole(head) { return .whole }
        var tail: WebMTail?
        if let picture, let size = picture.element.size, size <= Self.longestFrame {
            let content = picture.offset + UInt64(picture.element.headLength)
            let after = content + size
            let frame = try read(content + UInt64(WebMBlock.length), Int(size) - WebMBlock.length)
            // Sound between two pictures, which are 2 s apart at most.
            let following = try read(after, Int(min(position - after, Self.longestFrame)))
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
        guard let duration = try element(at: head.durationAt), let seekHead = try element(at: head.seekHeadAt) else {
            return false
        }
        let size = try read(head.segmentSizeAt, EBMLWriter.openSizeLength)
        return duration.is(.duration) && seekHead.is(.seekHead) && size != EBMLWriter.unknownSize
    }

    private struct Cluster {
        let offset: UInt64
        /// ms.
        let timestamp: Int64
        let framesAt: UInt64
        /// Nil if it has no size, or ends beyond the file.
        let end: UInt64?
        let beginsWithKeyframe: Bool
    }

    /// Nil if there is none that a recorder has written, with a whole frame.
    private mutating func cluster(at offset: UInt64) throws -> Cluster? {
        guard let element = try element(at: offset), element.is(.cluster),
            element.headLength == 4 + EBMLWriter.openSizeLength
        else { return nil }
        let timestampAt = offset + UInt64(element.headLength)
        guard let timestamp = try self.element(at: timestampAt), timestamp.is(.timestamp),
            let start = try unsigned(timestamp, at: timestampAt), start < 1 << 42
        else { return nil }
        let framesAt = timestampAt + UInt64(timestamp.headLength) + (timestamp.size ?? 0)
        guard let (block, first) = try block(at: framesAt), let size = first.size,
            whole(size, from: framesAt + UInt64(first.headLength)) != nil
        else { return nil }
        return Cluster(
            offset: offset,
            timestamp: Int64(start),
            framesAt: framesAt,
            end: element.size.flatMap { whole($0, from: timestampAt) },
            beginsWithKeyframe: block.track == .picture && block.isKeyframe
        )
    }

    /// Returns where the element ends; nil if there is none of a cluster, or a part of one.
    private mutating func readFrame(at offset: UInt64, start: Int64) throws -> UInt64? {
        guard let element = try element(at: offset), let size = element.size,
            let next = whole(size, from: offset + UInt64(element.headLength))
        else { return nil }
        if element.is(.void), size == 0 {
            time += 1000
            return next
        }
        guard let (block, _) = try block(at: offset) else { return nil }
        let blockTime = start + Int64(block.time)
        switch block.track {
        case .picture where element.is(.blockGroup):
            // The end had begun to be written.
            picture = nil
            time = max(time, blockTime + (try duration(ofGroup: element, at: offset)?.ms ?? 1))
        case .picture:
            picture = (offset, element, block, blockTime)
            time = max(time, blockTime)
        case .sound: time = max(time, blockTime + 20)
        }
        return next
    }

    /// How long a frame is shown, in ms, and where that stands; nil if it does not follow the frame.
    private mutating func duration(ofGroup group: EBMLElement, at offset: UInt64) throws -> (ms: Int64, end: UInt64)? {
        let content = offset + UInt64(group.headLength)
        guard let block = try element(at: content), let size = block.size,
            let next = whole(size, from: content + UInt64(block.headLength)), let duration = try element(at: next),
            duration.is(.blockDuration), let size = duration.size, let value = try unsigned(duration, at: next),
            value < 1 << 42
        else { return nil }
        return (Int64(value), next + UInt64(duration.headLength) + size)
    }

    // MARK: - Reading

    /// The end of an element's content, if all of it is in the file.
    private func whole(_ size: UInt64, from offset: UInt64) -> UInt64? {
        let (end, overflows) = offset.addingReportingOverflow(size)
        return overflows || end > length ? nil : end
    }

    private mutating func element(at offset: UInt64) throws -> EBMLElement? {
        EBMLElement(try bytes(EBMLElement.longestHead, at: offset))
    }

    /// What stands before a frame, and the element around it; nil if there is no frame.
    private mutating func block(at offset: UInt64) throws -> (block: WebMBlock, element: EBMLElement)? {
        guard let element = try element(at: offset) else { return nil }
        let content = offset + UInt64(element.headLength)
        if element.is(.simpleBlock) { return try blockHead(of: element, at: content).map { ($0, element) } }
        guard element.is(.blockGroup), let inner = try self.element(at: content), inner.is(.block),
            let block = try blockHead(of: inner, at: content + UInt64(inner.headLength))
        else { return nil }
        // Without a reference to another frame it is a keyframe.
        let end = try duration(ofGroup: element, at: offset)?.end
        let isKeyframe = element.size.flatMap { whole($0, from: content) } == end
        return (WebMBlock(block.track, at: Int64(block.time), isKeyframe: isKeyframe), element)
    }

    private mutating func blockHead(of element: EBMLElement, at content: UInt64) throws -> WebMBlock? {
        guard let size = element.size, size >= WebMBlock.length else { return nil }
        return WebMBlock(try bytes(WebMBlock.length, at: content))
    }

    private mutating func unsigned(_ element: EBMLElement, at offset: UInt64) throws -> UInt64? {
        guard let size = element.size, 1...8 ~= size else { return nil }
        let value = try bytes(Int(size), at: offset + UInt64(element.headLength))
        return value.count == Int(size) ? EBMLElement.bigEndian(value) : nil
    }

    /// Fewer at the end of the file.
    private mutating func bytes(_ count: Int, at offset: UInt64) throws -> ArraySlice<UInt8> {
        if offset < buffer.offset || offset + UInt64(count) > buffer.offset + UInt64(buffer.bytes.count) {
            if offset >= length { return [] }
            buffer = (offset, try read(offset, Self.window))
        }
        return buffer.bytes.dropFirst(Int(offset - buffer.offset)).prefix(count)
    }
}
