package import Time

/// The reason why there is no encoder, or no frame from it.
package enum VideoEncoderError: Error, Equatable {
    /// A value that no encoder can work with. The text names it.
    case configuration(String)
    /// Not later than the frame before.
    case presentationTime(Instant, previous: Instant)
    /// A call into libvpx or libaom failed: its name, its error code, and the library's words for both.
    case library(call: String, code: UInt32, reason: String)
}

extension VideoEncoderError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .configuration(let problem): problem
        case .presentationTime(let time, let previous):
            "a frame at \(time.nanoseconds) ns is not later than the one before, at \(previous.nanoseconds) ns"
        case .library(let call, let code, let reason): "\(call): \(reason) (\(code))"
        }
    }
}
