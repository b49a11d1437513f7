import Glibc
import Link
import Pairing
import Posix
import TestSupport
import Testing
import Time

@testable import Nearby

@Suite struct DeviceFileTests {
    private let network: VirtualNetwork
    private let pair: PairID
    private let folder: TemporaryDirectory

    init() throws {
        folder = try TemporaryDirectory()
        network = try VirtualNetwork(["desk", "tablet"])
        for index in 0..<2 { try network.start(index) }
        network.run(for: .seconds(1))
        let made = network.pair(0, 1)
        pair = try #require(made)
    }

    private func bytes(_ count: Int, seed: UInt64 = 1) -> [UInt8] {
        var random = SplitMix(seed: seed)
        return (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
    }

    private func file(_ bytes: [UInt8]) throws -> GivenFile {
        let path = folder.file("file")
        unlink(path)
        try FileDescriptor.open(path, O_WRONLY | O_CREAT).write(bytes, at: 0)
        return GivenFile(try FileDescriptor.open(path, O_RDONLY))
    }

    private func send(_ bytes: [UInt8], as name: String, from index: Int = 0) throws -> Int {
        network.request(.sendFile(pair: "\(pair)", name: name), with: try file(bytes), at: index)
    }

    /// The files that came, by name.
    private func inbox(_ index: Int = 1) throws -> [String: [UInt8]] {
        let folder = try FileDescriptor.open(network.devices[index].inbox.path, O_RDONLY | O_DIRECTORY)
        var files: [String: [UInt8]] = [:]
        for name in folder.entries() where name != "." && name != ".." {
            files[name] = try folder.open(name, O_RDONLY).readBytes(1 << 24)
        }
        return files
    }

    @Test(arguments: [0, 1, 65_535, 65_536, 65_537, 1 << 20, 5_000_000], [0, 1])
    func eachArrivesWhole(size: Int, from: Int) throws {
        let content = bytes(size)
        let sent = try send(content, as: "a photo.jpg", from: from)
        network.run(for: .seconds(5))
        #expect(network.replies(sent, at: from).last == .done)
        #expect(try inbox(1 - from) == ["a photo.jpg": content])
        #expect(network.devices[1 - from].notes.last?.hasSuffix("/a photo.jpg") == true)
    }

    /// Both ways at once, several of one name.
    @Test func severalGoAtOnce() throws {
        let contents = (0..<6).map { bytes(400_000 + $0, seed: UInt64($0)) }
        let sent = try contents.enumerated().map { try send($1, as: "log", from: $0 % 2) }
        network.run(for: .seconds(10))
        for (number, client) in sent.enumerated() { #expect(network.replies(client, at: number % 2).last == .done) }
        for index in 0..<2 {
            let files = try inbox(index)
            #expect(Set(files.keys) == ["log", "log (2)", "log (3)"])
            #expect(Set(files.values) == Set([0, 2, 4].map { contents[$0 + 1 - index] }))
        }
    }

    /// Wherever the link breaks, or the other process dies, it goes on there.
    @Test(arguments: 0..<30)
    func itGoesOnAfterACut(seed: UInt64) throws {
        var random = SplitMix(seed: seed)
        let content = bytes(3_000_000, seed: seed)
        let sent = try send(content, as: "film")
        for _ in 0..<3 {
            network.run(for: .milliseconds(Int.random(in: 1...40, using: &random)))
            if Bool.random(using: &random) {
                network.cut(0, 1)
            } else {
                network.kill(1)
                try network.start(1)
            }
            network.run(for: .seconds(Int.random(in: 3...10, using: &random)))
        }
        network.run(for: .seconds(80))
        #expect(network.replies(sent, at: 0).last == .done)
        #expect(try inbox() == ["film": content])
        let carried = network.devices[0].sent.reduce(0) { $0 + ($1.first == 0x32 ? $1.count : 0) }
        #expect(carried < content.count + 4 * (FileReceiving.window + 65_536), "it begins anew each time")
    }

    @Test(arguments: [
        "../x", "/dev/null", "..", "", ".hidden", "a/b\\c", "x\u{0}y\n\u{1B}[2J", String(repeating: "é", count: 600),
    ])
    func namesStayInTheInbox(name: String) throws {
        let sent = try send([1, 2, 3], as: name)
        network.run(for: .seconds(2))
        #expect(network.replies(sent, at: 0).last == .done)
        let files = try inbox()
        #expect(
            Array(files.values) == [[1, 2, 3]] && files.keys.allSatisfy { !$0.hasPrefix(".") && !$0.contains("\u{1B}") }
        )
    }

    /// Where the two are known to each other by their addresses alone.
    @Test func itGoesOnWithoutAnnouncements() throws {
        network.isSilent = true
        network.kill(1)
        network.run(for: .seconds(70))
        try network.start(1)
        let content = bytes(3_000_000)
        let sent = try send(content, as: "film")
        network.run(for: .milliseconds(15))
        #expect(network.isLinked(0, to: pair) && network.replies(sent, at: 0).last != .done)
        network.cut(0, 1)
        network.run(for: .seconds(15))
        #expect(network.replies(sent, at: 0).last == .done)
        #expect(try inbox() == ["film": content])
    }

    /// A file that was sent before comes once more, as the first one may be gone.
    @Test func aFileIsSentAgain() throws {
        for number in 1...2 {
            let sent = try send([1, 2], as: "a")
            network.run(for: .seconds(1))
            #expect(network.replies(sent, at: 0).last == .done)
            #expect(try inbox().count == number)
        }
    }

    @Test func withoutTheRightNothingIsTaken() throws {
        try network.devices[1].store.change(pair) { pair in
            var pair = pair
            pair.rights = [.message]
            return pair
        }
        network.request(.reload, at: 1)
        let sent = try send([1], as: "a")
        network.run(for: .seconds(2))
        #expect(
            network.replies(sent, at: 0).last == .failed(.refused, sentence: "tablet takes no files of this device")
        )
        #expect(try inbox().isEmpty)
    }

    /// Larger than any disk.
    @Test(arguments: [UInt64(1) << 62, 1 << 63, .max])
    func hugeOffersAreRefused(size: UInt64) throws {
        network.sendFrame(.offer(id: 2, LinkFrame.FileOffer(size: size, modified: 0, name: "a")), from: 0, to: pair)
        network.run(for: .seconds(2))
        #expect(network.isLinked(1, to: pair))
        #expect(try inbox().isEmpty)
        #expect(network.devices[1].notes.last == "a of desk: it cannot be written: see whether the disk is full")
    }

    /// A file that others cut while it is sent.
    @Test func aFileThatShrinksFails() throws {
        let sent = try send(bytes(3_000_000), as: "log")
        network.run(for: .milliseconds(8))
        truncate(folder.file("file"), 1000)
        network.run(for: .seconds(3))
        guard case .failed(.failed, let sentence)? = network.replies(sent, at: 0).last else {
            Issue.record("it did not fail")
            return
        }
        #expect(sentence.contains("has become shorter"))
        #expect(try inbox().isEmpty)
        #expect(network.devices[1].notes.last == "log of desk: cancelled")
    }

    @Test func aCommandThatEndsCancels() throws {
        let sent = try send(bytes(3_000_000), as: "log")
        network.run(for: .milliseconds(8))
        network.leave(sent, at: 0)
        network.run(for: .seconds(1))
        #expect(try inbox().isEmpty)
        #expect(network.devices[1].notes.last == "log of desk: cancelled")
        let next = try send([5], as: "log")
        network.run(for: .seconds(1))
        #expect(network.replies(next, at: 0).last == .done)
    }

    @Test func aPairThatIsAwayGetsNothing() throws {
        network.kill(1)
        network.run(for: .seconds(70))
        let sent = try send([1], as: "a")
        network.run(for: .seconds(30))
        #expect(network.replies(sent, at: 0).last == .failed(.unavailable, sentence: "tablet cannot be reached now"))
    }
}
