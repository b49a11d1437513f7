package import Access
package import Media
package import Time

/// A call of a sender that has begun. Any thread may use it. It reports to its host.
package protocol Call: AnyObject, Sendable {
    /// Leaves. `ended` is reported once, perhaps later.
    func close()

    /// Whether a server runs it, which gets a moment to hear that this side leaves.
    var saysGoodbye: Bool { get }

    /// The machine's addresses or routes have changed, so another attempt may succeed now.
    func networkChanged()

    /// The machine was suspended, and its clock stood still. The call checks its server at once.
    func slept(for time: Duration)

    var facts: CallFacts { get }
}

extension Call {
    package var saysGoodbye: Bool { false }
    package func networkChanged() {}
    /// For calls that notice by the end of their connection (`WebClient.cutConnections`).
    package func slept(for time: Duration) {}
    package var facts: CallFacts { CallFacts() }
}

/// Facts about a call, asked at any time.
package struct CallFacts: Sendable {
    /// For a receiver of plain RTP to open.
    package var sdp: String?
    /// Why nobody gets the call although it stands; nil if somebody does.
    package var trouble: String?
    /// The packets sent past the peers.
    package var sent: PlainRTPStatistics?

    package init() {}
}

/// A call's view of its sender.
package struct CallHost: Sendable {
    /// The call's name for people.
    package let name: String
    package let network: CallNetwork
    package let access: AccessControl
    /// Gets the other side's picture, on the network thread; nil if that is not wanted.
    package let receiver: (any FrameReceiver)?
    /// Gets the reports of the call, on any thread, perhaps before the call has begun.
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
    /// Whether the voices of peers are taken.
    var takesVoices: Bool { media.voices != nil }

    /// - Parameter sentence: about the call, without its name.
    func tell(_ event: CallReport.Event, _ sentence: String) { report(CallReport(event, "\(name): \(sentence)")) }
}

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
