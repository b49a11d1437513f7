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

extension VideoEncoderError {
    /// A failed call, with the library's words for its code and for the case at hand.
    static func library(
        _ call: StaticString,
        _ code: UInt32,
        _ words: UnsafePointer<CChar>?,
        _ detail: UnsafePointer<CChar>?
    ) -> VideoEncoderError {
        let reason = [words, detail].compactMap(\.self).map { String(cString: $0) }.joined(separator: ": ")
        return .library(call: "\(call)", code: code, reason: reason)
    }
}
