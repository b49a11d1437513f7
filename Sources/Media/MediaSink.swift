package import Time

/// A destination of encoded frames: a call with all its receivers, or a recording.
///
/// The sender calls the methods from several threads. Calls for the frames of one rendition, and for sound, come one by
/// one. No method waits: a sink that cannot accept a frame drops it and demands a keyframe. So a sink does not delay
/// others.
package protocol MediaSink: AnyObject, Sendable {
    /// Gives the sink a closure to report that a demand has changed. Called once, before all others.
    ///
    /// - Parameter wake: may be called by any thread, at any time, and does not wait.
    func setWaker(_ wake: @escaping @Sendable () -> Void)

    /// The sink's demand for a rendition now. After each change of the demand, the sink wakes the sender. That an
    /// instant in the demand passes is no change.
    func demand(for rendition: Rendition.ID, at now: Instant) -> Demand

    /// Sends a frame of a rendition that the sink wants.
    ///
    /// - Parameter bytes: the encoder's output, one whole frame; valid until the call returns.
    /// - Throws: any error if the sink is broken. The sender then reports it and gives it no more frames.
    func send(_ bytes: Span<UInt8>, _ frame: EncodedFrame) throws

    /// Reports that of the renditions of its rung, this one suits the picture best. A sink may move receivers that
    /// accept several codecs to it.
    func prefer(_ rendition: Rendition)

    /// The sink's demand for the broadcast's sound now. After each change, the sink wakes the sender.
    func soundDemand(at now: Instant) -> SoundDemand

    /// Sends a packet of sound, if the sink wants any. A packet that it cannot accept is lost, as on a network.
    ///
    /// - Parameter packet: valid until the call returns.
    /// - Throws: as `send` of frames.
    func send(sound packet: Span<UInt8>, _ sound: EncodedSound) throws
}

package struct Demand: Sendable, Equatable {
    /// Whether there are receivers. Without any, nothing is encoded.
    package var isWanted: Bool
    /// The earliest instant of a keyframe for waiting receivers; nil if none waits. May lie in the past.
    package var keyframeAt: Instant?
    /// The longest interval of unrequested keyframes; nil if none are needed, as all receivers can ask.
    package var keyframeInterval: Duration?
    /// Until when no frame can be accepted, as earlier ones still wait to be sent; nil if there is room.
    package var isFullUntil: Instant?
    /// The upper bound of rate control from the receivers' links, in bits a second; nil for no bound.
    package var limit: Int?
    /// The rate that the receivers' links carry, in bits a second: it tells how soon a large frame arrives. Nil if
    /// unknown.
    package var linkRate: Int?
    /// Whether the next frames measure the links, whose rate is unknown. They should be small.
    package var measuresLink = false
    /// Whether all frames must have the rendition's size.
    package var keepsSize = false
    /// Whether it takes what others get, such as a file: while others want the rendition, their links alone set the pace and the rates.
    package var follows = false

    package static let none = Demand(isWanted: false)
}

extension Demand {
    package init(isWanted: Bool) { self.init(isWanted: isWanted, keepsSize: false) }
}
