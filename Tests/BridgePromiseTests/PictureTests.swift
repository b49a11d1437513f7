import Glibc
import Posix
import TestSupport
import TestTraits
import Testing

/// What readers see is whole, and what it says it is.
@Suite(.serialized, .waits(seconds: 50)) struct PictureTests {
    private static let readers = 3
    private static let verifiedReads = Scene.amount(2_000_000)

    /// Invariant: whole.
    @Test(arguments: Variant.of("noTornFrameIsAccepted"))
    func noTornFrameIsAccepted(variant: Variant) throws {
        try variant.judge { scene in
            guard variant.isCorrect else {
                let writer = try scene.peer("write", "256x256*0")
                let readers = try (0..<2).map { _ in try scene.peer("read", "frames=100000", "again=1") }
                for reader in readers { try scene.finish(reader, "a reader") }
                return writer.kill(SIGKILL)
            }
            let writer = try scene.swiftPeer("write", "storage=\(variant.storage)", "64x64*0")
            try scene.wait(until: "there is a frame") { writer.value("published") != nil }
            let each = Self.verifiedReads / 2 / Self.readers + 1
            let readers = try (0..<Self.readers).map { index in
                try scene.swiftPeer("read", "frames=\(each)", "again=1", "access=\(index == 0 ? "copied" : "mapped")")
            }
            var (reads, overruns): (UInt64, UInt64) = (0, 0)
            for reader in readers {
                try scene.finish(reader, "a reader")
                reads += reader.value("frames") ?? 0
                overruns += reader.value("overruns") ?? 0
            }
            #expect(reads * 2 >= Self.verifiedReads)
            #expect(overruns > 0, "nobody was ever in the way")
            #expect(writer.status() == nil)
        }
    }

    @Test(arguments: Variant.of("everyFrameHasItsOwnGeometry"))
    func everyFrameHasItsOwnGeometry(variant: Variant) throws {
        try variant.judge { scene in
            var random = SystemRandomNumberGenerator()
            let sizes = (0..<1000).map { _ in
                let width = Int.random(in: 1...300, using: &random) * 2
                return "\(width)x\(Int.random(in: 1...200, using: &random) * 2)*1"
            }
            let writer = try Subprocess(
                [scene.program] + scene.arguments("write", ["rate=250"] + sizes + ["stop"]),
                environment: Scene.calm
            )
            try scene.wait(until: "there is a frame") { writer.value("published") != nil }
            let readers = try ["mapped", "copied"].map { try scene.peer("read", "until=dead", "access=\($0)") }
            try scene.finish(writer, "the writer")
            for reader in readers {
                try scene.finish(reader, "a reader")
                #expect(reader.value("damages") == 0)
                #expect(reader.value("frames") ?? 0 > 50)
            }
        }
    }

    /// Invariant: complete.
    @Test(arguments: Variant.of("whatChangedAddsUpToTheWhole"))
    func whatChangedAddsUpToTheWhole(variant: Variant) throws {
        try variant.judge { scene in
            let writer = try scene.peer(
                "write",
                "pattern=tiles",
                "rate=150",
                "322x194*300",
                "640x480*100",
                "66x130*0"
            )
            try scene.wait(until: "there is a frame") { writer.value("published") != nil }
            // More than there are of the first two sizes: it sees the last one too.
            let reader = try scene.peer("read", "pattern=tiles", "frames=450", "sleep=1")
            try scene.finish(reader, "the reader")
            #expect(writer.status() == nil)
        }
    }

    @Test(arguments: Variant.of("everySleeperIsWoken"))
    func everySleeperIsWoken(variant: Variant) throws {
        try variant.judge { scene in
            let writer = try scene.peer("write", "rate=20", "64x64*0")
            try scene.wait(until: "there is a frame") { writer.value("published") != nil }
            // Each sleeps until the end of its time if nobody wakes it.
            let readers = try (0..<64).map { _ in try scene.peer("read", "frames=40", "sleep=1") }
            for reader in readers { try scene.finish(reader, "a reader") }
            #expect(writer.status() == nil)
        }
    }
}
