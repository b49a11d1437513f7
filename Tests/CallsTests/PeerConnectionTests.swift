import Access
import Media
import Peers
import Synchronization
import TestSupport
import Testing
import WebRTC

@testable import Calls

/// A peer of a call, with another one at its end.
@Suite struct PeerConnectionTests {
    /// One end, and what was signalled there.
    private final class End: Sendable {
        let connection: PeerConnection
        let network: CallNetwork
        private let log: Log

        final class Log: Sendable {
            let signals = Mutex<[(word: String, text: String)]>([])

            func note(_ word: String, _ text: String = "") { signals.withLock { $0.append((word, text)) } }
        }

        init(_ other: PeerConnection.Other) throws {
            let log = Log()
            (self.log, network) = (log, RoomMembersTests.network())
            let host = CallHost(name: "room+http://h/tea", network, access: AccessControl()) { _ in }
            connection = PeerConnection(try network.peers(), other, in: host) { signal, _ in
                switch signal {
                case .described(let sdp): log.note("described", sdp)
                case .answered(let sdp, _): log.note("answered", sdp)
                case .found: log.note("found")
                case .gathered(let fragment): log.note("gathered", fragment)
                case .proposed(let fragment): log.note("proposed", fragment ?? "")
                case .migrating: log.note("migrating")
                case .connected(let codec): log.note("connected \(codec?.rawValue ?? "")")
                case .ended(let why, let reason, let isFinal): log.note("\(reason) \(isFinal): \(why)")
                }
            }
        }

        /// Waits for a signal.
        ///
        /// - Returns: the description or fragment that came with it.
        @discardableResult
        func wait(for word: String) throws -> String {
            var words: [String] = []
            try TestSupport.wait(until: "\(word) at \(connection.other.place), after \(words)") {
                words = self.words
                return words.contains(word) || words.contains { $0.contains(": ") }
            }
            return try #require(log.signals.withLock { signals in signals.last { $0.word == word }?.text })
        }

        var words: [String] { log.signals.withLock { $0.map(\.word) } }

        deinit { network.close() }
    }

    /// They have a path and keys.
    private func meet() throws -> (one: End, other: End) {
        let one = try End(PeerConnection.Other(place: "there", name: "Ann", receiver: UnseenPictures()))
        var place = PeerConnection.Other(place: "here")
        place.kick = { $0.close(as: $1) }
        let other = try End(place)
        one.connection.offer()
        other.connection.answer(try one.wait(for: "described"))
        one.connection.accept(try other.wait(for: "answered"))
        for end in [one, other] {
            try wait(until: "there is a path to \(end.connection.other.place)") {
                end.words.contains { $0.hasPrefix("connected") }
            }
        }
        return (one, other)
    }

    @Test func theyMeetAndOneIsSentAway() throws {
        let (one, other) = try meet()
        let ids = try [one, other].map { try #require($0.connection.id) }
        #expect(one.network.participants[ids[0]]?.name == "Ann" && one.network.participants[ids[0]]?.kick == nil)
        #expect(other.network.participants[ids[1]]?.call == "room+http://h/tea")
        other.network.participants[ids[1]]?.kick?(.kicked)
        try other.wait(for: "kicked false: was sent away")
        try one.wait(for: "hungUp false: left")
        #expect(one.network.participants[ids[0]] == nil && other.network.participants[ids[1]] == nil)
        for end in [one, other] { #expect(end.words.count == 3 && end.connection.id == nil) }
    }

    @Test func whatIsProposedIsTakenBackOrMakesSense() throws {
        let (one, other) = try meet()
        one.connection.propose()
        let fragment = try TrickleFragment(parsing: one.wait(for: "proposed"), mids: ["0"])
        #expect(fragment.credentials != nil && !fragment.candidates.isEmpty)
        one.connection.abandonProposal()
        one.connection.acceptProposal("rubbish")
        try one.wait(for: "lost false: is out of reach")
        other.connection.close()
    }

    /// Whoever ends it needs not be told.
    @Test func nothingIsSignalledAfterTheGoodbye() throws {
        let (one, other) = try meet()
        one.connection.close()
        try other.wait(for: "hungUp false: left")
        one.connection.offer()
        one.network.close()
        #expect(one.words.count == 2)
    }

    @Test func whatCannotBeAnsweredEndsIt() throws {
        let end = try End(PeerConnection.Other(place: "here"))
        end.connection.answer("rubbish")
        try wait(until: "it is over") { !end.words.isEmpty }
        #expect(end.words[0].hasPrefix("failed true: has sent an offer that cannot be answered: "))
        #expect(end.connection.id == nil && end.network.participants[1] == nil)
    }
}
