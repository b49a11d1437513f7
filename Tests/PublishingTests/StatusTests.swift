import Control
import FoundationEssentials
import JSON
import Media
import TestSupport
import Testing
import Time

@testable import Publishing
@testable import Sender

/// What `oriel status` tells of those who look in.
@Suite struct StatusTests {
    private func viewer(_ pictures: PeerSnapshot.Pictures) -> ViewerSnapshot {
        var viewer = ViewerSnapshot()
        (viewer.participant.id, viewer.participant.address, viewer.peer.media.pictures) = (3, "room tea", pictures)
        let isSent = pictures == .sent || pictures == .both
        (viewer.peer.media.codec, viewer.peer.media.rendition) = isSent ? ("vp8", 1) : ("", nil)
        return viewer
    }

    private func snapshot(_ viewer: ViewerSnapshot) -> Snapshot {
        var snapshot = Snapshot(directory: "/oriel")
        let report = SenderSnapshot(calls: [], bitrateBps: 1, viewers: [viewer])
        snapshot.senders = [Snapshot.Sender(pid: 7, .success(report))]
        return snapshot
    }

    /// The cell under a head of the table.
    private func cell(_ head: String, _ viewer: ViewerSnapshot) throws -> String {
        let lines = snapshot(viewer).lines.suffix(2)
        let start = try #require(lines.first?.firstRange(of: head)?.lowerBound)
        let column = try #require(lines.first?.distance(from: lines.first!.startIndex, to: start))
        let text = try #require(lines.last).dropFirst(column)
        return String(text[..<(text.firstRange(of: "  ")?.lowerBound ?? text.endIndex)])
    }

    /// Which way pictures go stands under its head, and in JSON under its name.
    @Test(
        arguments: [
            (.sent, ["sent", "vp8", "1"]), (.both, ["both", "vp8", "1"]), (.received, ["received", "-", "-"]),
            (.none, ["none", "-", "-"]),
        ] as [(PeerSnapshot.Pictures, [String])]
    )
    func theWayOfPicturesIsTold(pictures: PeerSnapshot.Pictures, cells: [String]) throws {
        let viewer = viewer(pictures)
        #expect(try ["pictures", "codec", "rendition"].map { try cell($0, viewer) } == cells)
        struct Line: Decodable { let pictures: String, codec: String, rendition: Int?, sender: Int }
        struct Lines: Decodable { let viewers: [Line] }
        let line = try #require(Lines(jsonLine: snapshot(viewer).printableJSONLine()).viewers.first)
        #expect(line.pictures == cells[0] && line.codec == (cells[1] == "-" ? "" : cells[1]) && line.sender == 7)
        #expect(line.rendition == Int(cells[2]))
    }

    /// What somebody may say, and how it is heard.
    @Test func whoSpeaksIsTold() throws {
        struct Line: Decodable { let talk: String, voice: [String: Double]? }
        func told(_ viewer: ViewerSnapshot) throws -> (cell: String, line: Line) {
            (try cell("talk", viewer), try JSONDecoder().decode(Line.self, from: Data(viewer.jsonLine().utf8)))
        }
        var somebody = viewer(.sent)
        let off = try told(somebody)
        #expect(off.cell == "-" && off.line.talk == "off" && off.line.voice == nil)
        somebody.participant.talk = .asked
        let asked = try told(somebody)
        #expect(asked.cell == "asked" && asked.line.talk == "asked" && asked.line.voice == nil)
        somebody.participant.talk = .speaking
        somebody.participant.voice = ViewerSnapshot.Voice(
            levelDb: -23.4,
            lossRatio: 0.02,
            concealedRatio: 0.01,
            bufferMs: 35
        )
        let speaking = try told(somebody)
        #expect(speaking.cell == "speaking, -23 dB, 2 % lost, 1 % made up, 35 ms")
        #expect(
            speaking.line.voice == ["level_db": -23.4, "loss_ratio": 0.02, "concealed_ratio": 0.01, "buffer_ms": 35]
        )
    }

    /// A sender says so itself, and one that says anything else is not believed.
    @Test func onlyFourWordsDo() throws {
        let words = [("sent", true), ("received", true), ("both", true), ("none", true), ("neither", false)]
        for (word, isKnown) in words {
            let other = try viewer(.sent).jsonLine().replacing("\"sent\"", with: "\"\(word)\"")
            let status = try? ViewerSnapshot(jsonLine: other)
            #expect(status?.peer.media.pictures.rawValue == (isKnown ? word : nil))
        }
    }

    @Test func whatIsHeardIsTold() throws {
        var listener = viewer(.sent)
        #expect(try cell("sound", listener) == "-")
        (listener.peer.media.soundBps, listener.peer.media.soundLossRatio) = (95_500, 0.25)
        #expect(try cell("sound", listener) == "95 kb/s")
        #expect(try snapshot(listener).printableJSONLine().contains(#""sound_bps":95500,"sound_loss_ratio":0.25"#))
    }

    /// In each second, by what was sent in it.
    @Test func theSoundOfASecondIsTold() throws {
        var work = SenderWork()
        var statistics = SenderStatistics()
        work.note(statistics, isThin: false, at: .seconds(10))
        #expect(work.latest.sound == nil)
        statistics.sound = SoundStatistics()
        work.note(statistics, isThin: false, at: .seconds(11))
        #expect(work.latest.sound == SenderSnapshot.Sound())
        statistics.sound!.bytes = 12_000
        (statistics.sound!.packets, statistics.sound!.blocksLost) = (50, 3)
        (statistics.sound!.channels, statistics.sound!.bitrate) = (2, 64_000)
        statistics.sound!.heardAt = .seconds(12)
        work.note(statistics, isThin: false, at: .seconds(12))
        var expected = SenderSnapshot.Sound()
        (expected.channels, expected.bitrateBps, expected.targetBps) = (2, 96_000, 64_000)
        (expected.packets, expected.blocksLost, expected.silent) = (50, 3, false)
        #expect(work.latest.sound == expected)
        // Half a second later, half as much more.
        statistics.sound!.bytes += 6000
        statistics.sound!.heardAt = .seconds(12.5)
        work.note(statistics, isThin: false, at: .seconds(12.5))
        #expect(work.latest.sound?.bitrateBps == 96_000)
        work.note(statistics, isThin: false, at: .seconds(13.6))
        #expect(work.latest.sound?.bitrateBps == 0 && work.latest.sound?.silent == true)
        let told = try JSONEncoder().encode(expected)
        #expect(try JSONDecoder().decode(SenderSnapshot.Sound.self, from: told) == expected)
        statistics.sound = nil
        work.note(statistics, isThin: false, at: .seconds(15))
        #expect(work.latest.sound == nil)
    }
}
