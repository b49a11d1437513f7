/// Checks what a sound server tells of a recording: it may be anything. Sans-IO.
struct ReportCheck {
    enum Verdict: Equatable {
        /// So many bytes were recorded and not sent yet.
        case ahead(Int64)
        case wrong
        /// It is wrong again and again.
        case hopeless
    }

    /// A PipeWire (up to 1.0) whose main thread stood still for some tenths of a second loses count of what it has recorded. It tells of fewer
    /// bytes than it has sent, from then on, and nobody knows when any of them were captured.
    private static let most = 2

    private var wrong = 0

    /// - Parameters:
    ///   - recorded: bytes, all in all.
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
