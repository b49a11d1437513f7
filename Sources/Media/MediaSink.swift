package import Time

/// Where encoded frames go: a call with all its receivers, or a recording.
///
/// The sender calls every method from several threads, of each rendition's frames, and of sound, one after the other. No method waits: a
/// sink that cannot take a frame drops it and demands a keyframe. So a sink costs the others nothing.
package protocol MediaSink: AnyObject, Sendable {
    /// Gives the sink the means to tell that a demand has changed. Called once, before all others.
    ///
    /// - Parameter wake: may be called by any thread, at any time, and does not wait.
    func setWaker(_ wake: @escaping @Sendable () -> Void)

    /// What the sink wants of a rendition now. Whenever the demand changes, the sink wakes the sender; the passing of an instant
    /// that the demand names is no change.
    func demand(for rendition: Rendition.ID, at now: Instant) -> Demand

    /// Takes a frame of a rendition that the sink wants.
    ///
    /// - Parameter bytes: the encoder's output, one whole frame; valid until the call returns.
    /// - Throws: anything if the sink is broken. The sender then reports it and gives it no more frames.
    func take(_ bytes: Span<UInt8>, _ frame: EncodedFrame) throws

    /// Tells that of the renditions of its rung, this one suits the picture best. A sink may move receivers to it that take
    /// several codecs.
    func prefer(_ rendition: Rendition)

    /// What the sink wants of the broadcast's sound now. Whenever that changes, the sink wakes the sender.
    func soundDemand(at now: Instant) -> SoundDemand

    /// Takes a packet of sound, if it wants any. One that it cannot take is lost, as on a network.
    ///
    /// - Parameter packet: valid until the call returns.
    /// - Throws: as `take` of frames.
    func take(sound packet: Span<UInt8>, _ sound: EncodedSound) throws
}

/// What a sink wants of a rendition.
package struct Demand: Sendable, Equatable {
    /// Whether somebody receives it. Nothing is encoded while nobody does.
    package var isWanted: Bool
    /// The earliest instant of a keyframe for the receivers that wait for one; nil if none does. May lie in the past.
    package var keyframeAt: Instant?
    /// How far keyframes may be apart that nobody asks for; nil if there need be none, as all receivers can ask.
    package var keyframeInterval: Duration?
    /// Until when no frame can be taken, as those before still wait to be sent; nil if there is room.
    package var isFullUntil: Instant?
    /// What rate control may take at the most, as the receivers' links carry no more, in bits a second; nil for no bound.
    package var limit: Int?
    /// What the receivers' links carry, in bits a second: how soon a large frame is there. Nil where nothing tells.
    package var linkRate: Int?
    /// Whether the next frames show what the links carry, which nobody knows yet: they had better be small.
    package var measuresLink: Bool
    /// Whether all frames must have the rendition's size.
    package var keepsSize: Bool

    package init(
        isWanted: Bool,
        keyframeAt: Instant? = nil,
        keyframeInterval: Duration? = nil,
        isFullUntil: Instant? = nil,
        limit: Int? = nil,
        linkRate: Int? = nil,
        measuresLink: Bool = false,
        keepsSize: Bool = false
    ) {
        self.isWanted = isWanted
        self.keyframeAt = keyframeAt
        self.keyframeInterval = keyframeInterval
        self.isFullUntil = isFullUntil
        self.limit = limit
        self.linkRate = linkRate
        self.measuresLink = measuresLink
        self.keepsSize = keepsSize
    }

    package static let none = Demand(isWanted: false)
}
