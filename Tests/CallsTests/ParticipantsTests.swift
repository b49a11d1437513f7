import Media
import Peers
import Posix
import Synchronization
import TestSupport
import Testing

@testable import Calls

/// Who is in the calls of a sender.
@Suite struct ParticipantsTests {
    /// Whoever is told of has a name and a place, while others come and go.
    @Test func whoeverHasAPeerIsThere() throws {
        let web = try WebFixture(viewerLimit: 4)
        let isOver = Atomic(false)
        defer { isOver.store(true, ordering: .relaxed) }
        let missing = Mutex<[ParticipantID]>([])
        let reader = try Thread { [peers = web.peers, participants = web.network.participants] in
            while !isOver.load(ordering: .relaxed) {
                let lost = peers.statuses.map(\.id).filter { participants[$0] == nil }
                // One may have gone since it was told of.
                if lost.isEmpty { continue }
                let there = peers.statuses.map(\.id)
                missing.withLock { $0 += lost.filter { there.contains($0) && participants[$0] == nil } }
            }
        }
        for _ in 0..<20 {
            let (_, session, _) = try web.join()
            #expect(try web.request("DELETE", session).status == 200)
        }
        isOver.store(true, ordering: .relaxed)
        reader.join()
        #expect(missing.withLock(\.self).isEmpty)
        #expect((1...20).allSatisfy { web.network.participants[ParticipantID($0)] == nil })
    }

    @Test func whoIsThereIsDescribedInOnePlace() throws {
        let web = try WebFixture()
        _ = try web.join()
        let viewer = try #require(web.network.participants[1])
        #expect(viewer.call == "web" && viewer.name.isEmpty && viewer.place == "127.0.0.1" && viewer.kick != nil)
        #expect(web.network.participants[2] == nil)
        web.kick(2)
        #expect(web.network.participants[1] != nil)
        web.kick(1)
        try wait(until: "it is gone") { web.network.participants[1] == nil }
        web.kick(1)
    }
}
