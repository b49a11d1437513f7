/// Why a call is over without being left, or cannot begin.
package struct CallEnd: Error, Sendable, Equatable, CustomStringConvertible {
    /// With the exit code of a sender whose last call ends so.
    package enum Kind: Int32, Sendable {
        /// The server or the host is not there, or is none of this kind.
        case unavailable = 69
        /// There is no room now.
        case tryAgain = 75
        /// The server refuses or cannot be understood, or this machine cannot do it.
        case failed = 1
        /// Somebody there does not want the call.
        case refused = 77
    }

    package let kind: Kind
    package let reason: EndReason
    /// A sentence for a person.
    package let description: String

    /// - Parameter reason: nil for the usual one of the kind.
    package init(_ kind: Kind, _ sentence: String, reason: EndReason? = nil) {
        (self.kind, description) = (kind, sentence)
        let usual: EndReason =
            switch kind {
            case .unavailable: .lost
            case .tryAgain: .busy
            case .failed: .failed
            case .refused: .rejected
            }
        self.reason = reason ?? usual
    }
}

extension String {
    /// A server's words for a sentence: the first line, 200 bytes at the most, without control characters for a terminal.
    init(quoting words: String) {
        let line =
            String(decoding: words.utf8.prefix(200), as: UTF8.self).split(whereSeparator: \.isNewline).first ?? ""
        self.init(line.filter { $0.asciiValue.map { 0x20...0x7E ~= $0 } ?? false })
    }
}
