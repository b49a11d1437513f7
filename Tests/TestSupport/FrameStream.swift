import Glibc

/// F_SETPIPE_SZ, which the Glibc module does not export.
private let setPipeSize: Int32 = 1031

/// Raw frames of one size that a program writes into a pipe.
package struct FrameStream: Sendable {
    private let descriptor: Int32
    private let frameBytes: Int

    /// - Parameter descriptor: the pipe's reading end, which the caller keeps open.
    package init(_ descriptor: Int32, frameBytes: Int) {
        self.descriptor = descriptor
        self.frameBytes = frameBytes
        // Fewer wake-ups for a frame than with the usual 64 KiB.
        _ = fcntl(descriptor, setPipeSize, 1 << 20)
    }

    /// Waits for the next whole frame; nil at the end of the stream.
    package func next() -> [UInt8]? {
        var filled = 0
        let frame = [UInt8](unsafeUninitializedCapacity: frameBytes) { buffer, count in
            while filled < frameBytes {
                let got = read(descriptor, buffer.baseAddress! + filled, frameBytes - filled)
                if got < 0 && errno == EINTR { continue }
                if got <= 0 { break }
                filled += got
            }
            count = filled
        }
        return filled == frameBytes ? frame : nil
    }
}
