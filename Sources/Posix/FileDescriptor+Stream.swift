import CPosix
import Glibc
import Time

/// Files that are written from front to back, such as pipes.
extension FileDescriptor {
    /// Writes all of `bytes`, and waits for a slow reader, even if the descriptor does not block.
    package func writeAll(_ bytes: [UInt8]) throws(SystemError) {
        var done = 0
        while done < bytes.count {
            do throws(SystemError) {
                done += try check("write") {
                    bytes.withUnsafeBytes { Glibc.write(raw, $0.baseAddress! + done, $0.count - done) }
                }
            } catch {
                guard error.code == EAGAIN else { throw error }
                try waitWritable(raw, until: MonotonicClock.now() + .seconds(1))
            }
        }
    }
}

extension FileDescriptor {
    /// Sends on a non-blocking socket as much as it takes now. Returns 0 if that is nothing.
    ///
    /// - Throws: `EPIPE` or `ECONNRESET` if the other side has gone.
    package func sendAvailable(_ bytes: ArraySlice<UInt8>) throws(SystemError) -> Int {
        let raw = raw
        do throws(SystemError) {
            return try check("send") {
                bytes.withUnsafeBytes { Glibc.send(raw, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            }
        } catch {
            guard error.code == EAGAIN else { throw error }
            return 0
        }
    }
}

extension FileDescriptor {
    /// Sends on a socket of this machine, with a copy of a descriptor.
    ///
    /// - Returns: how many bytes were sent; the descriptor went with the first one.
    package func send(_ bytes: [UInt8], with descriptor: borrowing FileDescriptor) throws(SystemError) -> Int {
        let (raw, gift) = (raw, descriptor.raw)
        return try check("sendmsg") { posix_send_with_descriptor(raw, bytes, bytes.count, gift) }
    }

    /// Receives from such a socket.
    ///
    /// - Returns: the bytes, none of them at the end; nil if there is nothing yet. A descriptor came with one of the last of them.
    package func receive(limit: Int) throws(SystemError) -> (bytes: [UInt8], descriptor: Int32?)? {
        let raw = raw
        var (buffer, gift) = ([UInt8](repeating: 0, count: limit), Int32(-1))
        do throws(SystemError) {
            let count = try check("recvmsg") { posix_receive_with_descriptor(raw, &buffer, limit, &gift) }
            return (Array(buffer[..<count]), gift < 0 ? nil : gift)
        } catch {
            guard error.code == EAGAIN else { throw error }
            return nil
        }
    }
}

/// A pipe. The caller closes both ends. No started program inherits one.
package func openPipe() throws(SystemError) -> (reading: Int32, writing: Int32) {
    var ends: [Int32] = [-1, -1]
    try check("pipe") { pipe(&ends) }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    return (ends[0], ends[1])
}

/// Reads from a non-blocking descriptor, up to the size of the buffer. Returns nil if there is nothing yet, 0 at the
/// end.
package func readAvailable(
    from descriptor: Int32,
    into buffer: UnsafeMutableRawBufferPointer
) throws(SystemError) -> Int? {
    do throws(SystemError) {
        return try check("read") { read(descriptor, buffer.baseAddress, buffer.count) }
    } catch {
        guard error.code == EAGAIN else { throw error }
        return nil
    }
}
