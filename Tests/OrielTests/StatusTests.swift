import Control
import FoundationEssentials
import JSON
import Media
import TestSupport
import Testing
import Time

@testable import Sender
@testable import oriel

/// What `oriel status` tells of those who look in.
@Suite struct StatusTests {
    private func viewer(_ pictures: SenderStatus.Pictures) -> ViewerEntry {
        var viewer = SenderStatus.Viewer()
        (viewer.id, viewer.address, viewer.pictures) = (3, "room tea", pictures)
        (viewer.codec, viewer.rendition) = pictures == .received || pictures == .none ? ("", nil) : ("vp8", 1)
        return ViewerEntry(sender: 7, viewer: viewer)
    }

    /// Which way pictures go stands under its head, and in JSON under its name.
    @Test(
        arguments: [
            (.sent, ["sent", "vp8", "1"]), (.both, ["both", "vp8", "1"]), (.received, ["received", "-", "-"]),
            (.none, ["none", "-", "-"]),
        ] as [(SenderStatus.Pictures, [String])]
    )
    func theWayOfPicturesIsTold(pictures: SenderStatus.Pictures, cells: [String]) throws {
        let row = viewer(pictures).row
        #expect(row.count == ViewerEntry.head.count)
        let told = Dictionary(uniqueKeysWithValues: zip(ViewerEntry.head, row))
        #expect(["pictures", "codec", "rendition"].map { told[$0] } == cells)
        struct Line: Decodable { let pictures: String, codec: String, rendition: Int?, sender: Int }
        let line = try JSONDecoder().decode(Line.self, from: Data(viewer(pictures).printableJSONLine().utf8))
        #expect(line.pictures == cells[0] && line.codec == (cells[1] == "-" ? "" : cells[1]) && line.sender == 7)
        #expect(line.rendition == Int(cells[2]))
    }

    /// What somebody may say, and how it is heard.
    @Test func whoSpeaksIsTold() throws {
        struct Line: Decodable { let talk: String, voice: [String: Double]? }
        func told(_ entry: ViewerEntry) throws -> (cell: String?, line: Line) {
            let cells = Dictionary(uniqueKeysWithValues: zip(ViewerEntry.head, entry.row))
            return (cells["talk"], try JSONDecoder().decode(Line.self, from: Data(entry.printableJSONLine().utf8)))
        }
        var entry = viewer(.sent)
        let off = try told(entry)
        #expect(off.cell == "-" && off.line.talk == "off" && off.line.voice == nil)
        var somebody = entry.viewer
        somebody.talk = .asked
        entry = ViewerEntry(sender: 7, viewer: somebody)
        let asked = try told(entry)
        #expect(asked.cell == "asked" && asked.line.talk == "asked" && asked.line.voice == nil)
        somebody.talk = .speaking
        somebody.voice = SenderStatus.Voice(levelDb: -23.4, lossRatio: 0.02, concealedRatio: 0.01, bufferMs: 35)
        entry = ViewerEntry(sender: 7, viewer: somebody)
        let speaking = try told(entry)
        #expect(speaking.cell == "speaking, -23 dB, 2 % lost, 1 % made up, 35 ms")
        #expect(
            speaking.line.voice == ["level_db": -23.4, "loss_ratio": 0.02, "concealed_ratio": 0.01, "buffer_ms": 35]
        )
    }

    /// A sender says so itself, and one that says anything else is not believed.
    @Test func onlyFourWordsDo() throws {
        let words = [("sent", true), ("received", true), ("both", true), ("none", true), ("neither", false)]
        for (word, isKnown) in words {
            let text = try JSONEncoder().encode(viewer(.sent).viewer)
            let other = String(decoding: text, as: UTF8.self).replacing("\"sent\"", with: "\"\(word)\"")
            let status = try? JSONDecoder().decode(SenderStatus.Viewer.self, from: Data(other.utf8))
            #expect(status?.pictures.rawValue == (isKnown ? word : nil))
        }
    }

    @Test func whatIsHeardIsTold() throws {
        var listener = viewer(.sent).viewer
        #expect(ViewerEntry(sender: 7, viewer: listener).row.last == "-")
        (listener.soundBps, listener.soundLossRatio) = (95_500, 0.25)
        let entry = ViewerEntry(sender: 7, viewer: listener)
        #expect(Dictionary(uniqueKeysWithValues: zip(ViewerEntry.head, entry.row))["sound"] == "95 kb/s")
        #expect(try entry.printableJSONLine().contains(#""sound_bps":95500,"sound_loss_ratio":0.25"#))
    }

    /// In each second, by what was sent in it.
    @Test func theSoundOfASecondIsTold() throws {
        var work = SenderWork()
        var statistics = SenderStatistics()
        work.note(statistics, isThin: false, at: .seconds(10))
        #expect(work.sound == nil)
        statistics.sound = SoundStatistics()
        work.note(statistics, isThin: false, at: .seconds(11))
        #expect(work.sound == SenderStatus.Sound())
        statistics.sound!.bytes = 12_000
        (statistics.sound!.packets, statistics.sound!.blocksLost) = (50, 3)
        (statistics.sound!.channels, statistics.sound!.bitrate) = (2, 64_000)
        statistics.sound!.heardAt = .seconds(12)
        work.note(statistics, isThin: false, at: .seconds(12))
        var expected = SenderStatus.Sound()
        (expected.channels, expected.bitrateBps, expected.targetBps) = (2, 96_000, 64_000)
        (expected.packets, expected.blocksLost, expected.silent) = (50, 3, false)
        #expect(work.sound == expected)
        // Half a second later, half as much more.
        statistics.sound!.bytes += 6000
        statistics.sound!.heardAt = .seconds(12.5)
        work.note(statistics, isThin: false, at: .seconds(12.5))
        #expect(work.sound?.bitrateBps == 96_000)
        work.note(statistics, isThin: false, at: .seconds(13.6))
        #expect(work.sound?.bitrateBps == 0 && work.sound?.silent == true)
        let told = try JSONEncoder().encode(expected)
        #expect(try JSONDecoder().decode(SenderStatus.Sound.self, from: told) == expected)
        statistics.sound = nil
        work.note(statistics, isThin: false, at: .seconds(15))
        #expect(work.sound == nil)
    }
}
