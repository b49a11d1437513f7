/// Checks a sound server's reports on a recording: any number may be wrong. Sans-IO.
struct ReportCheck {
    enum Verdict: Equatable {
        /// This many bytes are recorded and not sent yet.
        case ahead(Int64)
        case wrong
        /// The reports are wrong again and again.
        case hopeless
    }

    /// A PipeWire (up to 1.0) whose main thread stood still for some tenths of a second loses count of the recorded
    /// bytes. From then on it reports fewer bytes than it has sent, and their capture times are unknown.
    private static let most = 2

    private var wrong = 0

    /// - Parameters:
    ///   - recorded: bytes in all.
    ///   - sent: bytes of these.
    ///   - mostAhead: bytes that a server may keep.
    mutating func take(recorded: Int64, sent: Int64, mostAhead: Int64) -> Verdict {
        let (ahead, isBeyond) = recorded.subtractingReportingOverflow(sent)
        if !isBeyond, 0...mostAhead ~= ahead {
            wrong = 0
            return .ahead(ahead)
        }
        wrong += 1
        return wrong == Self.most ? .hopeless : .wrong
    }
}
