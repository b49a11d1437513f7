/// Reads bytes of a file from an offset on; fewer at its end.
package typealias FileReading = (_ offset: UInt64, _ count: Int) throws -> [UInt8]

/// Finds the clusters and blocks of a file of `WebMWriter`, torn off or not. Sans-IO: it asks for bytes of the file.
struct WebMScanner {
    struct Cluster {
        let offset: UInt64
        /// ms.
        let timestamp: Int64
        let framesAt: UInt64
        /// Nil if it has no size, or ends beyond the file.
        let end: UInt64?
        let beginsWithKeyframe: Bool
    }

    let read: FileReading
    /// Of the file.
    let length: UInt64
    /// The bytes that were read last.
    private var buffer: (offset: UInt64, bytes: [UInt8]) = (0, [])
    /// A file of more ms is none of Oriel's.
    static let longestTime: UInt64 = 1 << 42
    /// Bytes of one reading.
    private static let window = 65_536

    init(length: UInt64, read: @escaping FileReading) { (self.length, self.read) = (length, read) }

    // MARK: - Elements of a recording

    /// Nil if the file is another writer's, or its beginning is damaged.
    func head() throws -> WebMHead? { WebMHead(try read(0, WebMHead.longest)) }

    /// Nil if there is none that a recorder has written, with a whole frame.
    mutating func cluster(at offset: UInt64) throws -> Cluster? {
        guard let element = try element(at: offset), element.is(.cluster),
            element.headLength == 4 + EBMLWriter.openSizeLength
        else { return nil }
        let timestampAt = offset + UInt64(element.headLength)
        guard let timestamp = try self.element(at: timestampAt), timestamp.is(.timestamp),
            let start = try unsigned(timestamp, at: timestampAt), start < Self.longestTime
        else { return nil }
        let framesAt = timestampAt + UInt64(timestamp.headLength) + (timestamp.size ?? 0)
        guard let (block, first, _) = try block(at: framesAt), let size = first.size,
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

    /// How long a frame is shown, in ms, and where that stands; nil if it does not follow the frame.
    mutating func duration(ofGroup group: EBMLElement, at offset: UInt64) throws -> (ms: Int64, end: UInt64)? {
        let content = offset + UInt64(group.headLength)
        guard let block = try element(at: content), let size = block.size,
            let next = whole(size, from: content + UInt64(block.headLength)), let duration = try element(at: next),
            duration.is(.blockDuration), let size = duration.size, let value = try unsigned(duration, at: next),
            value < Self.longestTime
        else { return nil }
        return (Int64(value), next + UInt64(duration.headLength) + size)
    }

    /// A frame, and the element around it; nil if there is none.
    mutating func block(at offset: UInt64) throws -> (block: WebMBlock, element: EBMLElement, frame: Range<UInt64>)? {
        guard let element = try element(at: offset) else { return nil }
        let content = offset + UInt64(element.headLength)
        if element.is(.simpleBlock) {
            return try blockHead(of: element, at: content).map { ($0.block, element, $0.frame) }
        }
        guard element.is(.blockGroup), let inner = try self.element(at: content), inner.is(.block),
            let (block, frame) = try blockHead(of: inner, at: content + UInt64(inner.headLength)),
            let end = element.size.flatMap({ whole($0, from: content) }), frame.upperBound <= end
        else { return nil }
        // Without a reference to another frame it is a keyframe.
        let isKeyframe = try duration(ofGroup: element, at: offset)?.end == end
        return (WebMBlock(block.track, at: Int64(block.time), isKeyframe: isKeyframe), element, frame)
    }

    private mutating func blockHead(of element: EBMLElement, at content: UInt64) throws -> (
        block: WebMBlock, frame: Range<UInt64>
    )? {
        guard let size = element.size, size >= WebMBlock.length, let end = whole(size, from: content) else {
            return nil
        }
        return WebMBlock(try bytes(WebMBlock.length, at: content)).map {
            ($0, content + UInt64(WebMBlock.length)..<end)
        }
    }

    // MARK: - Elements of any file

    /// The end of an element's content, if all of it is in the file.
    func whole(_ size: UInt64, from offset: UInt64) -> UInt64? {
        let (end, overflows) = offset.addingReportingOverflow(size)
        return overflows || end > length ? nil : end
    }

    mutating func element(at offset: UInt64) throws -> EBMLElement? {
        EBMLElement(try bytes(EBMLElement.longestHead, at: offset))
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
