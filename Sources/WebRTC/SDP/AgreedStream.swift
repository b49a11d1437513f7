package import Media
package import RTP

/// A media description with a stream in it.
package struct AgreedStream: Equatable, Sendable {
    package struct Format: Equatable, Sendable {
        package let codec: StreamCodec
        package internal(set) var parameters: OutgoingStream.Parameters
        /// The value of its `fmtp` line; nil if it has none.
        var specifics: String?
        var feedback: [String]
    }

    /// Empty if the offer gives the description no name.
    package internal(set) var mid: String
    package let track: String
    /// The formats that may be sent, the usual one first; never empty.
    package internal(set) var formats: [Format]
    /// The values of the `extmap` lines.
    let extensions: [String]
    /// The index of the description.
    let section: Int
    /// Whether this side sends in the description.
    package internal(set) var isSent = true
    /// Whether this side receives the peer's stream in the description. It sends, receives, or both.
    package internal(set) var isReceived = false
}

extension AgreedStream {
    /// The codec of sent pictures: this one if it was agreed on, or else the usual one; nil for sound.
    package func codec(preferring codec: VideoCodec) -> VideoCodec? {
        guard case .video(let usual) = formats[0].codec else { return nil }
        return self[codec] == nil ? usual : codec
    }

    package subscript(codec: VideoCodec) -> OutgoingStream.Parameters? {
        formats.first { $0.codec == .video(codec) }?.parameters
    }
}
