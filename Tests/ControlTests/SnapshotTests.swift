import JSON
import Media
import TestSupport
import Testing

@testable import Control

/// What processes tell of themselves, between versions of the program.
@Suite struct SnapshotTests {
    /// All parts of a viewer stand side by side, and each comes back.
    @Test func whatIsToldOfAViewerComesBack() throws {
        let full = #"""
            {"address":"192.0.2.7","bitrate_bps":900000,"call":"web","codec":"vp8","estimate_bps":1500000,\#
            "frames_sent":360,"id":3,"loss_ratio":0.02,"nacks":5,"name":"Ann","path":"host-relay","pictures":"both",\#
            "plis":2,"queue_ms":4.25,"rendition":2,"rtt_ms":35.25,"since_s":12,"sound_bps":64000,\#
            "sound_loss_ratio":0.25,"srtp":"SRTP_AEAD_AES_128_GCM","state":"connected","talk":"speaking",\#
            "target_bps":1200000,\#
            "voice":{"buffer_ms":35,"concealed_ratio":0.01,"level_db":-23.5,"loss_ratio":0.02}}
            """#
        let bare = #"""
            {"address":"","bitrate_bps":0,"call":"","codec":"","frames_sent":0,"id":4,"nacks":0,"pictures":"sent",\#
            "plis":0,"since_s":0,"state":"","talk":"off"}
            """#
        for line in [full, bare] { #expect(try ViewerSnapshot(jsonLine: line).jsonLine() == line) }
        // A later version tells more.
        let later = full.replacing("{\"address\"", with: "{\"zeal\":[1],\"address\"")
        #expect(try ViewerSnapshot(jsonLine: later).jsonLine() == full)
        // A field of the wrong type is no absent one.
        for wrong in [("64000", "\"x\""), ("35.25", "[]"), ("\"Ann\"", "7")] {
            #expect(throws: (any Error).self) {
                try ViewerSnapshot(jsonLine: full.replacing(wrong.0, with: wrong.1))
            }
        }
    }

    /// In one of its places, at least: the table, or the page. JSON has all.
    @Test func eachFactIsSomewhere() {
        let facts = ViewerSnapshot.facts
        #expect(facts.allSatisfy { $0.head != nil || $0.page != nil })
        #expect(Set(facts.compactMap(\.head)).count == facts.count { $0.head != nil })
        #expect(Set(facts.compactMap(\.page)).count == facts.count { $0.page != nil })
    }

    /// A sender that was taken over may tell anything: it neither breaks the table nor ends the command.
    @Test func aSenderMayTellAnything() throws {
        var random = SplitMix(seed: 5)
        let texts = ["", "\n\n", String(repeating: "x", count: 5000), "\u{1B}[2J", "\u{1F468}\u{200D}\u{1F469}"]
        for _ in 0..<100 {
            var viewer = ViewerSnapshot()
            viewer.participant.id = ParticipantID(.random(in: .min ... .max, using: &random))
            viewer.participant.name = texts.randomElement(using: &random)
            viewer.participant.address = texts.randomElement(using: &random)!
            viewer.participant.sinceS = [Double.greatestFiniteMagnitude, -.infinity, .nan, 1].randomElement(
                using: &random
            )!
            viewer.peer.link.lossRatio = [Double.infinity, -1e300, 0.5].randomElement(using: &random)!
            viewer.peer.link.bitrateBps = [.min, .max, 0].randomElement(using: &random)!
            let knock = SenderSnapshot.Knock(
                id: .min,
                name: texts.randomElement(using: &random)!,
                note: texts.randomElement(using: &random)!,
                address: texts.randomElement(using: &random)!,
                sinceS: .nan
            )
            var report = SenderSnapshot(calls: [], bitrateBps: 1, viewers: [viewer, viewer])
            report.knocks = [knock]
            var snapshot = Snapshot(directory: "/oriel")
            snapshot.senders = [Snapshot.Sender(pid: 7, .success(report))]
            let lines = snapshot.lines
            // A line each for the broadcast and the knock, an empty one, and a table of three.
            #expect(lines.count == 6 && lines.suffix(3).allSatisfy { $0.count < 17 * 125 })
            #expect(!lines[1].contains { $0.isNewline })
        }
    }
}
