package import Media
package import RTP

/// A stream that this side can send, without a media description so far.
package struct LocalStream: Equatable, Sendable {
    /// A token that tells the stream from the session's other tracks (RFC 8830).
    package let track: String
    /// The codecs that this side can send, all of one kind, in groups. Of each group, the first one that the peer knows
    /// is agreed on.
    package let codecs: [[StreamCodec]]
    /// Whether this side sends it, where it is asked for it. An offer of this side always says so.
    package let sends: Bool
    /// Whether this side also receives the peer's stream in the same media description.
    package let receives: Bool

    package init(track: String, codecs: [[StreamCodec]], sends: Bool = true, receives: Bool = false) {
        precondition(Set(codecs.joined().map(\.kind)).count == 1)
        self.track = track
        self.codecs = codecs
        (self.sends, self.receives) = (sends, receives)
    }

    var kind: String { codecs.joined().first!.kind }

    /// The screen.
    ///
    /// - Parameters:
    ///   - codecs: the codecs, in groups.
    ///   - receives: whether this side receives the peer's picture.
    package static func screen(_ codecs: [[VideoCodec]], receives: Bool = false) -> LocalStream {
        LocalStream(track: "screen", codecs: codecs.map { $0.map(StreamCodec.video) }, receives: receives)
    }

    /// The broadcast's sound.
    ///
    /// - Parameters:
    ///   - sends: whether the peer may hear it.
    ///   - receives: whether this side receives the peer's voice.
    package static func sound(sends: Bool = true, receives: Bool = false) -> LocalStream {
        LocalStream(track: "sound", codecs: [[.opus]], sends: sends, receives: receives)
    }
}
