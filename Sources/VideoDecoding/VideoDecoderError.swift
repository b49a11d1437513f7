import Pixels

/// The reason why a frame of a peer makes no picture.
package enum VideoDecoderError: Error, Equatable {
    /// The announced size is too large, or less than two pixels wide or high.
    case size(width: Int, height: Int)
    /// It has another format than 8 bits and 4:2:0.
    case format
    /// Its headers end before they are complete.
    case truncated
    /// A call into libvpx or libaom failed: its name, its error code, and the library's words for it.
    case library(call: String, code: UInt32, reason: String)
}

extension VideoDecoderError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .size(let width, let height): "a picture of \(width)x\(height) is not decoded"
        case .format: "a picture of another format than 8 bits and 4:2:0 is not decoded"
        case .truncated: "a frame ends within its headers"
        case .library(let call, let code, let reason): "\(call): \(reason) (\(code))"
        }
    }
}
