/// Why a call that others run is over without being left.
package struct CallEnd: Error, Sendable, Equatable, CustomStringConvertible {
    package enum Kind: Sendable {
        /// The server is not there, or is none of this kind.
        case unavailable
        /// There is no room now.
        case tryAgain
        /// The server refuses, or cannot be understood.
        case failed
    }

    package let kind: Kind
    /// A sentence for a person.
    package let description: String

    init(_ kind: Kind, _ sentence: String) { (self.kind, description) = (kind, sentence) }
}

/// A call that others run, and this side takes part in.
package protocol JoinedCall: AnyObject, Sendable {
    /// Leaves it.
    func close()
}
