package import Media
package import RTP

/// A stream that this side has to send, as yet without a media description.
package struct LocalStream: Equatable, Sendable {
    /// A token that tells the stream from the session's other tracks (RFC 8830).
    package let track: String
    /// The codecs that can be sent, all of one kind, in groups: of each group, the first that the peer knows is agreed on.
    package let codecs: [[StreamCodec]]
    /// Whether this side also takes what the peer sends in the same media description.
    package let receives: Bool

    package init(track: String, codecs: [[StreamCodec]], receives: Bool = false) {
        precondition(Set(codecs.joined().map(\.kind)).count == 1)
        self.track = track
        self.codecs = codecs
        self.receives = receives
    }

    var kind: String { codecs.joined().first!.kind }

    /// The screen.
    ///
    /// - Parameters:
    ///   - codecs: those that can be sent, in groups.
    ///   - receives: whether this side takes the peer's picture.
    package static func screen(_ codecs: [[VideoCodec]], receives: Bool = false) -> LocalStream {
        LocalStream(track: "screen", codecs: codecs.map { $0.map(StreamCodec.video) }, receives: receives)
    }

    /// The broadcast's sound.
    ///
    /// - Parameter receives: whether this side takes the peer's voice.
    package static func sound(receives: Bool = false) -> LocalStream {
        LocalStream(track: "sound", codecs: [[.opus]], receives: receives)
    }
}
