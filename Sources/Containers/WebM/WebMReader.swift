package import Media

/// Reads the pictures of a file of `WebMWriter`, torn off or not, in order. Sans-IO: it asks for bytes of the file.
///
/// A frame of more than 32 MiB ends the file.
package struct WebMReader {
    package struct Picture: Equatable {
        /// Since the beginning of the file.
        package let time: Duration
        package let isKeyframe: Bool
        package let frame: [UInt8]
    }

    private static let longestFrame = 32 << 20

    package let codec: VideoCodec
    private var scanner: WebMScanner
    /// Nil after the last.
    private var cluster: WebMScanner.Cluster?
    /// Of the next block.
    private var position: UInt64

    /// Nil for a file of another writer, or one without a frame.
    ///
    /// - Parameter length: of the file.
    package init?(length: UInt64, read: @escaping FileReading) throws {
        scanner = WebMScanner(length: length, read: read)
        guard let head = try scanner.head(), let codec = head.codec(in: try read(0, WebMHead.longest)),
            let first = try scanner.cluster(at: head.endAt)
        else { return nil }
        self.codec = codec
        (cluster, position) = (first, first.framesAt)
    }

    /// Nil after the last picture.
    package mutating func next() throws -> Picture? {
        while let cluster {
            guard position < cluster.end ?? scanner.length, let next = try nextBlock() else {
                // Without a size, it ends where no block follows.
                enter(try scanner.cluster(at: cluster.end ?? position))
                continue
            }
            guard next.block.track == .picture, next.frame.count <= Self.longestFrame else { continue }
            let time = Duration.milliseconds(cluster.timestamp + Int64(next.block.time))
            let frame = try scanner.read(next.frame.lowerBound, next.frame.count)
            return Picture(time: time, isKeyframe: next.block.isKeyframe, frame: frame)
        }
        return nil
    }

    /// Leaves out pictures that one at a time does not need: those before the last keyframe up to that time.
    package mutating func skip(to time: Duration) throws {
        var candidate = cluster
        while let end = candidate?.end, let next = try scanner.cluster(at: end), .milliseconds(next.timestamp) <= time {
            if next.beginsWithKeyframe { enter(next) }
            candidate = next
        }
    }

    /// When the last cluster begins, which holds what is shown last.
    package mutating func lastCluster() throws -> Duration {
        var last = cluster
        while let end = last?.end, let next = try scanner.cluster(at: end) { last = next }
        return .milliseconds(last?.timestamp ?? 0)
    }

    private mutating func enter(_ cluster: WebMScanner.Cluster?) {
        self.cluster = cluster
        position = cluster?.framesAt ?? position
    }

    /// Passes a block; nil at the end of what is whole.
    private mutating func nextBlock() throws -> (block: WebMBlock, frame: Range<UInt64>)? {
        while let element = try scanner.element(at: position), let size = element.size,
            let end = scanner.whole(size, from: position + UInt64(element.headLength))
        {
            let block = element.is(.void) ? nil : try scanner.block(at: position)
            guard element.is(.void) || block != nil else { return nil }
            position = end
            if let block { return (block.block, block.frame) }
        }
        return nil
    }
}
