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

    /// For a receiver of plain RTP to open; nil if the call tells its server itself.
    var sdp: String? { get }

    /// Why nobody gets the call although it stands; nil if somebody does.
    var trouble: String? { get }

    /// The packets sent past the peers; nil if there are none.
    var sent: PlainRTPStatistics? { get }
}

extension Call {
    package var saysGoodbye: Bool { false }
    package func networkChanged() {}
    /// For calls that notice by the end of their connection (`WebClient.cutConnections`).
    package func slept(for time: Duration) {}
    package var sdp: String? { nil }
    package var trouble: String? { nil }
    package var sent: PlainRTPStatistics? { nil }
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
    var takesVoices: Bool { media.voices != nil }

    /// - Parameter sentence: about the call, without its name.
    func tell(_ event: CallReport.Event, _ sentence: String) { report(CallReport(event, "\(name): \(sentence)")) }
}
