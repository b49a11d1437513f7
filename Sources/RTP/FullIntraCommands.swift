/// Separates new full intra commands from repeated ones (RFC 5104 §4.3.1.1).
struct FullIntraCommands: Sendable {
    /// The newest command of each requester, oldest requester first.
    private var newest: [(requester: UInt32, sequenceNumber: UInt8)] = []
    /// The most requesters kept, so that forged ones cannot fill the memory.
    private static let requesterLimit = 64

    /// Returns whether the command is new.
    mutating func insert(_ sequenceNumber: UInt8, from requester: UInt32) -> Bool {
        if let known = newest.firstIndex(where: { $0.requester == requester }) {
            if newest[known].sequenceNumber == sequenceNumber { return false }
            newest.remove(at: known)
        } else if newest.count == Self.requesterLimit {
            newest.removeFirst()
        }
        newest.append((requester, sequenceNumber))
        return true
    }
}
