package import Media
package import RTP

/// A media description with a stream in it.
package struct AgreedStream: Equatable, Sendable {
    /// A codec and all that goes with it.
    package struct Format: Equatable, Sendable {
        package let codec: StreamCodec
        package internal(set) var parameters: OutgoingStream.Parameters
        /// The value of its `fmtp` line; nil where it has none.
        var specifics: String?
        var feedback: [String]
    }

    /// Empty if the offer gives the description no name.
    package internal(set) var mid: String
    package let track: String
    /// What may be sent, the usual format first; never empty.
    package internal(set) var formats: [Format]
    /// The values of the `extmap` lines.
    let extensions: [String]
    /// The description's place.
    let section: Int
    /// Whether this side sends in the description.
    package internal(set) var isSent = true
    /// Whether the peer does, and this side takes it. One of the two holds.
    package internal(set) var isReceived = false
}

extension AgreedStream {
    /// The codec of what is sent of pictures: this one if it was agreed on, or else the usual one; nil for sound.
    package func codec(preferring codec: VideoCodec) -> VideoCodec? {
        guard case .video(let usual) = formats[0].codec else { return nil }
        return self[codec] == nil ? usual : codec
    }

    /// What was agreed on for a codec of pictures; nil if nothing was.
    package subscript(codec: VideoCodec) -> OutgoingStream.Parameters? {
        formats.first { $0.codec == .video(codec) }?.parameters
    }
}
