package import Access
package import Media
package import Time

/// A call of a sender, of whatever kind, that has begun. Any thread may use it. What becomes of it, it tells its host.
package protocol Call: AnyObject, Sendable {
    /// Leaves. `ended` is reported then, once, perhaps later.
    func close()

    /// Whether others run it, who get a moment to hear that this side leaves.
    var saysGoodbye: Bool { get }

    /// The machine's addresses or routes have changed: what did not work may work now.
    func networkChanged()

    /// The machine was suspended, and the clock stood still meanwhile: what has become of the call is asked at once.
    func slept(for time: Duration)

    var facts: CallFacts { get }
}

extension Call {
    package var saysGoodbye: Bool { false }
    package func networkChanged() {}
    /// Where the end of its connection tells a call enough (`WebClient.cutConnections`).
    package func slept(for time: Duration) {}
    package var facts: CallFacts { CallFacts() }
}

/// What can be asked of a call at any time.
package struct CallFacts: Sendable {
    /// For a receiver of plain RTP to open.
    package var sdp: String?
    /// Why nobody gets the call although it stands; nil if somebody does.
    package var trouble: String?
    /// What was sent past the peers.
    package var sent: PlainRTPStatistics?

    package init() {}
}

/// What a call gets of its sender.
package struct CallHost: Sendable {
    /// The call's, as people are told it.
    package let name: String
    package let network: CallNetwork
    package let access: AccessControl
    /// Takes the picture of the other side, on the network thread; nil if that is not wanted.
    package let receiver: (any FrameReceiver)?
    /// Takes what the call tells, on any thread, perhaps before the call has begun.
    package var report: @Sendable (CallReport) -> Void

    package init(
        name: String,
        _ network: CallNetwork,
        access: AccessControl,
        receiver: (any FrameReceiver)? = nil,
        report: @escaping @Sendable (CallReport) -> Void
    ) {
        (self.name, self.network, self.access) = (name, network, access)
        (self.receiver, self.report) = (receiver, report)
    }

    package var media: SentMedia { network.media }
    /// Whether what peers say is taken.
    var takesVoices: Bool { media.voices != nil }

    /// - Parameter sentence: about the call, without its name.
    func tell(_ event: CallReport.Event, _ sentence: String) { report(CallReport(event, "\(name): \(sentence)")) }
}

/// What a sender sends into its calls, and takes from them.
package struct SentMedia: Sendable {
    /// In groups; of each group, the other side of a call gets the first that it takes.
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
    /// Takes what peers say; nil where nobody is heard.
    package var voices: (any SoundReceiver)?
    /// Have a sink get what is encoded, and no more. They are called under locks, and must not call the network.
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
