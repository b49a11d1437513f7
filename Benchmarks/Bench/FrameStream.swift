import Glibc

/// F_SETPIPE_SZ, which the Glibc module does not export.
private let setPipeSize: Int32 = 1031

/// Raw frames of one size that a process writes to its standard output.
final class FrameStream: Sendable {
    let process: ChildProcess
    private let frameBytes: Int
    private let descriptor: Int32

    init(_ process: ChildProcess, frameBytes: Int) {
        self.process = process
        self.frameBytes = frameBytes
        descriptor = process.outputDescriptor
        // Fewer wake-ups for a frame than with the usual 64 KiB.
        _ = fcntl(descriptor, setPipeSize, 1 << 20)
    }

    /// Waits for the next whole frame; nil at the end of the stream.
    func next() -> [UInt8]? {
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
