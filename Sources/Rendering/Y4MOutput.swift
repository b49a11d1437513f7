import Glibc
package import Pixels
package import Posix
import Synchronization
package import Time

/// Writes pictures to a file or a pipe as YUV4MPEG2, on a thread of its own. A slow reader misses pictures, and delays
/// nobody.
package final class Y4MOutput: Sendable {
    /// How to write pictures of another size than the first one.
    package enum SizeChange: Sendable {
        /// Scaled to the size of the first one, with bars: players know one size for a stream.
        case scales
        /// As another stream, with its own header.
        case beginsAnew
    }

    private struct State {
        /// The newest picture, unless it was taken to be written.
        var picture: PlanarPicture?
        /// The picture before, and memory for the next one; nil while the thread writes it.
        var spare: PlanarPicture?
        /// Whether the newest picture is to become black, or the one before if there is no newer one.
        var isCleared = false
        var isClosed = false
        var hasEnded = false
    }

    private let state = Mutex(State())
    private let bell = Bell()
    private let ended = Bell()
    private let sizeChange: SizeChange
    private let report: @Sendable (SystemError) -> Void

    /// Starts the thread.
    ///
    /// - Parameters:
    ///   - descriptor: may be non-blocking.
    ///   - report: called on the thread when writing has failed: with `EPIPE` if there is no reader any more.
    package init(
        to descriptor: consuming FileDescriptor,
        onSizeChange sizeChange: SizeChange,
        report: @escaping @Sendable (SystemError) -> Void
    ) throws(SystemError) {
        (self.sizeChange, self.report) = (sizeChange, report)
        let raw = descriptor.release()
        do throws(SystemError) {
            // Nobody joins it: it may wait for its reader for ever.
            _ = try Thread { [self] in run(FileDescriptor(taking: raw)) }
        } catch {
            _ = FileDescriptor(taking: raw)
            throw error
        }
    }

    /// Takes a picture, and leaves memory of an older one in its place. A waiting picture is dropped.
    ///
    /// - Returns: false once writing has failed.
    @discardableResult
    package func show(_ picture: inout PlanarPicture) -> Bool {
        let isTaken = state.withLock { state in
            if state.hasEnded { return false }
            let before = state.picture.take() ?? state.spare.take() ?? PlanarPicture()
            state.picture = picture
            picture = before
            state.isCleared = false
            return true
        }
        if isTaken { bell.ring() }
        return isTaken
    }

    /// Shows black, in the size of the latest picture.
    package func clear() {
        state.withLock { $0.isCleared = true }
        bell.ring()
    }

    /// Writes the last picture, unless that takes longer than the deadline.
    package func close(until deadline: Instant) {
        state.withLock { $0.isClosed = true }
        bell.ring()
        ended.wait(until: deadline) { state.withLock(\.hasEnded) }
    }

    // MARK: - The thread

    private func run(_ descriptor: consuming FileDescriptor) {
        do throws(SystemError) {
            try write(to: descriptor)
        } catch {
            report(error)
        }
        state.withLock { state in
            state.hasEnded = true
            (state.picture, state.spare) = (nil, nil)
        }
        ended.ring()
    }

    private func write(to descriptor: borrowing FileDescriptor) throws(SystemError) {
        var header: Y4MHeader?
        var scaled = PlanarPicture()
        while true {
            let rings = bell.count
            let (next, isCleared, isClosed) = state.withLock { state in
                let isCleared = exchange(&state.isCleared, with: false)
                return (state.picture.take() ?? (isCleared ? state.spare.take() : nil), isCleared, state.isClosed)
            }
            guard var picture = next else {
                if isClosed { return }
                bell.wait(while: rings)
                continue
            }
            if isCleared { picture.fillBlack() }
            if header == nil || sizeChange == .beginsAnew && header?.size != picture.size {
                header = Y4MHeader(size: picture.size)
                try descriptor.writeAll(header!.bytes)
            }
            if picture.size == header!.size {
                try write(picture, to: descriptor)
            } else {
                scaled.scale(picture, to: header!.size)
                try write(scaled, to: descriptor)
            }
            state.withLock { $0.spare = picture }
        }
    }

    private func write(_ picture: PlanarPicture, to descriptor: borrowing FileDescriptor) throws(SystemError) {
        try descriptor.writeAll(Y4MHeader.frame)
        for plane in [picture.y, picture.u, picture.v] { try descriptor.writeAll(plane) }
    }
}

extension PlanarPicture {
    /// Becomes a picture scaled to a size, with bars beside it.
    fileprivate mutating func scale(_ picture: PlanarPicture, to size: PixelSize) {
        var source = NV12Picture(size: picture.size)
        source.copy(picture)
        var target = NV12Picture(size: size)
        source.withPlanes { luma, chroma in
            Rescaler(from: picture.size, to: size)
                .rescale(luma: luma, chroma: chroma, layout: source.layout, into: &target)
        }
        copy(target)
    }
}
