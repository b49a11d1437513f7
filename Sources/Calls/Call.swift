package import Access
package import Media

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
