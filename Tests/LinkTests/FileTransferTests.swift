import TestSupport
import Testing

@testable import Link

/// A file on its way, over links that break and files that are slow.
private struct Transfer {
    let file: [UInt8]
    var sending: FileSending
    var receiving: FileReceiving
    /// What the receiver has.
    var part: [UInt8]
    var sent: [LinkFrame] = []
    var answers: [LinkFrame] = []
    var reads: [(offset: UInt64, count: Int)] = []
    var writes: [[UInt8]] = []
    var ends: [TransferEnd] = []
    var begin: UInt64?
    var mostWaiting = 0

    init(_ file: [UInt8], part: [UInt8] = []) {
        let offer = LinkFrame.FileOffer(size: UInt64(file.count), modified: 5, name: "a")
        (self.file, self.part) = (file, part)
        (sending, receiving) = (FileSending(id: 7, offer), FileReceiving(id: 7, offer))
    }

    /// Any bytes depend on all of the file.
    static func hash(_ bytes: [UInt8]) -> [UInt8] {
        var state: UInt64 = 14_695_981_039_346_656_037
        for byte in bytes { state = (state ^ UInt64(byte)) &* 1_099_511_628_211 }
        return (0..<32).map { UInt8(truncatingIfNeeded: state >> (8 * ($0 % 8))) }
    }

    mutating func settle() {
        while let output = sending.nextOutput() {
            switch output {
            case .send(let frame): sent.append(frame)
            case .read(let offset, let count): reads.append((offset, count))
            case .begins(let offset): begin = offset
            case .hash: sending.noteHash(Self.hash(file))
            case .ended(let reason): ends.append(reason)
            }
        }
        while let output = receiving.nextOutput() {
            switch output {
            case .send(let frame): answers.append(frame)
            case .write(let offset, let bytes):
                #expect(offset == UInt64(part.count + writes.reduce(0) { $0 + $1.count }))
                writes.append(bytes)
                mostWaiting = max(mostWaiting, writes.reduce(0) { $0 + $1.count })
            case .complete(let hash):
                while !writes.isEmpty { write() }
                receiving.noteDone(isRight: hash == Self.hash(part))
            case .ended(let reason): ends.append(reason)
            }
        }
    }

    mutating func read() {
        let (offset, count) = reads.removeFirst()
        sending.noteRead(Array(file[Int(offset)..<Int(offset) + count]))
    }

    mutating func write() {
        let bytes = writes.removeFirst()
        part += bytes
        receiving.noteWritten(bytes.count)
    }

    /// Does one of the possible steps. Returns whether there was one.
    mutating func step(_ random: inout SplitMix) -> Bool {
        settle()
        var steps: [(inout Transfer) -> Void] = []
        if !sent.isEmpty {
            steps.append { transfer in
                // The wire carries bytes.
                let frame = LinkFrame(transfer.sent.removeFirst().bytes)!
                if case .offer = frame {
                    transfer.receiving.take(from: UInt64(transfer.part.count))
                } else {
                    transfer.receiving.receive(frame)
                }
            }
        }
        if !answers.isEmpty { steps.append { $0.sending.receive(LinkFrame($0.answers.removeFirst().bytes)!) } }
        if !reads.isEmpty { steps.append { $0.read() } }
        if !writes.isEmpty { steps.append { $0.write() } }
        guard let step = steps.randomElement(using: &random) else { return false }
        step(&self)
        settle()
        return true
    }
}

@Suite struct FileTransferTests {
    private static let window = FileReceiving.window

    private func file(_ count: Int, _ random: inout SplitMix) -> [UInt8] {
        (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &random) }
    }

    @Test(arguments: [0, 1, 65_535, 65_536, 65_537, 1 << 19, window - 1, window, window + 1, 3 * window + 12_345])
    func eachSizeArrives(size: Int) {
        for seed in 0..<4 {
            var random = SplitMix(seed: UInt64(seed))
            var transfer = Transfer(file(size, &random))
            while transfer.step(&random) {}
            #expect(transfer.part == transfer.file && transfer.ends == [.done, .done], "\(transfer.ends)")
            #expect(transfer.mostWaiting <= Self.window && transfer.begin == 0)
            #expect(transfer.sending.progress == UInt64(size) && transfer.receiving.progress == UInt64(size))
        }
    }

    /// Whatever was written stays, and the rest comes by the next link.
    @Test func itGoesOnAfterACut() {
        for seed in 0..<40 {
            var random = SplitMix(seed: UInt64(seed))
            let file = file(2 * Self.window + Int.random(in: 0..<100_000, using: &random), &random)
            var part: [UInt8] = []
            for cut in 0..<5 {
                var transfer = Transfer(file, part: part)
                var steps = cut == 4 ? .max : Int.random(in: 0..<80, using: &random)
                while steps > 0, transfer.step(&random) { steps -= 1 }
                #expect(transfer.begin == nil || transfer.begin == UInt64(part.count))
                if cut < 4 {
                    transfer.sending.linkLost()
                    transfer.receiving.linkLost()
                    transfer.settle()
                }
                #expect(transfer.ends.count == 2)
                part = transfer.part
            }
            #expect(part == file)
        }
    }

    /// A file that changes, shrinks or cannot be read, a full disk, and people who change their minds.
    @Test func eachFailureIsToldOnce() {
        func run(_ body: (inout Transfer) -> Void) -> ([TransferEnd], [UInt8]) {
            var random = SplitMix(seed: 3)
            var transfer = Transfer(file(3 * Self.window, &random))
            for _ in 0..<8 { _ = transfer.step(&random) }
            transfer.settle()
            body(&transfer)
            while transfer.step(&random) {}
            return (transfer.ends, transfer.part)
        }
        #expect(run { $0.sending.cancel() }.0 == [.cancelled, .cancelled])
        #expect(run { $0.receiving.cancel() }.0 == [.cancelled, .cancelled])
        #expect(Set(run { $0.receiving.noteNotWritten() }.0) == [.notWritten])
        #expect(
            Set(
                run { transfer in
                    while transfer.reads.isEmpty, !transfer.answers.isEmpty {
                        transfer.sending.receive(transfer.answers.removeFirst())
                        transfer.settle()
                    }
                    transfer.reads = []
                    transfer.sending.noteRead([1, 2, 3])
                }.0
            ) == [.notRead, .cancelled]
        )
        // What was here before is from another file.
        var random = SplitMix(seed: 4)
        var changed = Transfer(file(100_000, &random), part: [UInt8](repeating: 1, count: 5000))
        while changed.step(&random) {}
        #expect(changed.ends == [.damaged, .damaged])
        var refused = Transfer([1, 2, 3])
        refused.settle()
        refused.receiving.refuse()
        refused.sent = []
        while refused.step(&random) {}
        #expect(refused.ends == [.refused, .refused] && refused.part.isEmpty)
    }

    /// The other side breaks the rules: more than was allowed, somewhere else, nothing, or in a wrong state.
    @Test func rulesAreKept() {
        let size = UInt64(4 * Self.window)
        let offer = LinkFrame.FileOffer(size: size, modified: 0, name: "a")
        func receiver(_ frames: [LinkFrame]) -> [FileReceiving.Output] {
            var receiving = FileReceiving(id: 1, offer)
            receiving.take(from: 0)
            for frame in frames { receiving.receive(frame) }
            var outputs: [FileReceiving.Output] = []
            while let output = receiving.nextOutput() { outputs.append(output) }
            return outputs
        }
        let chunk = [UInt8](repeating: 0, count: 65_536)
        let window = (0..<16).map { LinkFrame.data(id: 1, offset: UInt64($0) * 65_536, chunk) }
        #expect(receiver(window).last == .write(offset: 15 * 65_536, chunk))
        for bad in [
            window + [.data(id: 1, offset: 16 * 65_536, [1])], [.data(id: 1, offset: 1, [1])],
            [.data(id: 1, offset: 0, [])],
            [.data(id: 1, offset: .max, [1])], [.done(id: 1, hash: [])], [.take(id: 1, offset: 0)],
            [.credit(id: 1, bytes: 1)],
            [.result(id: 1, status: 0)],
        ] {
            #expect(receiver(bad).last == .ended(.damaged), "\(bad.count)")
        }
        func sender(_ frames: [LinkFrame]) -> [FileSending.Output] {
            var sending = FileSending(id: 1, offer)
            for frame in frames { sending.receive(frame) }
            var outputs: [FileSending.Output] = []
            while let output = sending.nextOutput() { outputs.append(output) }
            return outputs
        }
        let most = (0..<3).map { _ in LinkFrame.credit(id: 1, bytes: .max) }
        #expect(sender([.take(id: 1, offset: 0)] + most).last == .read(offset: 0, count: 65_536))
        for bad in [
            [.take(id: 1, offset: size + 1)], [.credit(id: 1, bytes: 1)], [.done(id: 1, hash: [])],
            [.data(id: 1, offset: 0, [1])],
            [.result(id: 1, status: 0)], [.take(id: 1, offset: 0), .take(id: 1, offset: 0)],
        ] as [[LinkFrame]] {
            #expect(sender(bad).last == .ended(.damaged), "\(bad)")
        }
        #expect(sender([.result(id: 1, status: 3)]).last == .ended(.notWritten))
        #expect(sender([.take(id: 1, offset: size)]).suffix(2) == [.begins(offset: size), .hash])
    }

    @Test func namesStayInTheFolder() {
        for (text, name) in [
            ("a.txt", "a.txt"), ("../x", "x"), ("/dev/null", "null"), ("..", "file"), ("", "file"),
            (".bashrc", "bashrc"),
            ("a/..", "file"), ("C:\\Users\\x.doc", "x.doc"), ("a\u{0}b\n\u{1B}[2J", "ab[2J"), ("...a", "a"),
            ("/", "file"), (" a. ", "a"),
            ("很好.tar.gz", "很好.tar.gz"), ("\u{202E}gpj.exe", "gpj.exe"), ("-rf", "-rf"),
        ] {
            #expect(FileName(text).description == name, "\(text)")
        }
        let long = FileName(String(repeating: "é", count: 500) + ".jpeg").description
        #expect(long.hasSuffix("é.jpeg") && 200...240 ~= long.utf8.count)
        #expect(FileName(String(repeating: "e\u{301}", count: 500)).description.utf8.count <= 240)
        // A character may have any number of marks.
        let marked = "a" + String(repeating: "\u{301}", count: 200)
        for hidden in [marked + ".bash_profile", "." + marked + ".x", marked] {
            let name = FileName(hidden).description
            #expect(!name.hasPrefix(".") && name.utf8.count <= 240 && !name.isEmpty)
        }
        #expect(FileName("a." + String(repeating: "b", count: 300)).description.utf8.count <= 240)
        #expect(FileName("a.txt").numbered(1) == "a.txt" && FileName("a.txt").numbered(2) == "a (2).txt")
        #expect(FileName("a").numbered(12) == "a (12)" && FileName("b.c/").numbered(3) == "b (3).c")
        var random = SplitMix(seed: 2)
        let parts = [
            "/", "\\", ".", "..", "a", " ", "\u{0}", "\u{301}", "é", "\u{1F468}\u{200D}\u{1F469}", "\n",
            String(repeating: "x", count: 200),
        ]
        for _ in 0..<5000 {
            let text = (0..<Int.random(in: 0..<12, using: &random)).map { _ in parts.randomElement(using: &random)! }
                .joined()
            let name = FileName(text).description
            #expect(
                !name.isEmpty && name.utf8.count <= 240 && !name.hasPrefix(".") && !name.contains("/")
                    && !name.utf8.contains(0)
            )
            #expect(FileName(name).description == name, "\(text.debugDescription)")
        }
    }
}
