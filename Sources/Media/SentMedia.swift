package import Time

/// The media of a sender, in both directions.
package struct SentMedia: Sendable {
    /// In groups. Of each group, a peer gets the first one that it knows.
    package var codecs: [[VideoCodec]]
    /// The first is for receivers that cannot choose.
    package var renditions: [Rendition]
    /// The encoders'.
    package var target: TargetBitrate
    /// The longest time between keyframes for receivers that may be unable to ask for one; nil for no limit.
    package var keyframeInterval: Duration?
    /// The horizons of pictures and of sound: nothing that was captured before is sent; nil for no limit.
    package var horizon: @Sendable () -> Instant? = { nil }
    package var soundHorizon: @Sendable () -> Instant? = { nil }
    /// Whether a call that begins now has sound.
    package var offersSound: @Sendable () -> Bool = { false }
    /// What has happened to the picture since the last call; nil for nothing.
    package typealias Changes = @Sendable () -> PictureChange?
    /// Begins to watch the picture for changes.
    package var watchChanges: @Sendable () throws -> Changes = { { nil } }
    /// Gets the voices of peers; nil where nobody is heard.
    package var voices: (any SoundReceiver)?
    /// Add and remove a sink of the encoders. They are called under locks, and must not call the network.
    package var addSink: @Sendable (any MediaSink) -> Void
    package var removeSink: @Sendable (any MediaSink) -> Void

    package init(
        codecs: [[VideoCodec]],
        renditions: [Rendition],
        target: TargetBitrate,
        addSink: @escaping @Sendable (any MediaSink) -> Void,
        removeSink: @escaping @Sendable (any MediaSink) -> Void
    ) {
        (self.codecs, self.renditions, self.target) = (codecs, renditions, target)
        (self.addSink, self.removeSink) = (addSink, removeSink)
    }
}
