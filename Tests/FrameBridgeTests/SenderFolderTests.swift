import FrameBridge
import Glibc
import Posix
import TestSupport
import Testing

@Suite(.serialized) struct SenderFolderTests {
    private let scratch: TemporaryDirectory
    private let broadcast: BridgeDirectory
    private var senders: String { broadcast.path + "/senders" }

    init() throws {
        scratch = try TemporaryDirectory()
        broadcast = try BridgeDirectory(path: scratch.file("bridge"), create: true)
    }

    @Test func aSenderFindsItsFolderEmpty() throws {
        #expect(SenderFolder.all(in: broadcast).isEmpty)
        // Of one that had the same number.
        try plant("\(getpid())", ["viewers", "request"])
        let own = try SenderFolder(in: broadcast)
        #expect(own.path == "\(senders)/\(getpid())")
        #expect(names(own.path) == [])
        let isHeld = try FileDescriptor.open(own.path, O_RDONLY).isLockedByAnother(against: .exclusive)
        #expect(isHeld)
        try own.replace("viewers", with: "one")
        try own.replace("viewers", with: "two")
        #expect(names(own.path).filter { !$0.hasPrefix(".") } == ["viewers"])
        let found = SenderFolder.all(in: broadcast)
        #expect(found.map { $0.read("viewers", limit: 100) } == ["two"])
        #expect(found[0].read("viewers", limit: 2) == "tw")
        own.clear()
        #expect(names(own.path) == [] && found[0].read("viewers", limit: 100) == nil)
    }

    @Test func theFoldersOfTheDeadGo() throws {
        let sender = try Subprocess(["sleep", "1000"])
        try plant("\(sender.pid)", ["viewers"])
        try plant("viewers", ["viewers"])
        #expect(SenderFolder.all(in: broadcast).map(\.path) == ["\(senders)/\(sender.pid)"])
        sender.kill(SIGKILL)
        try sender.wait()
        do {
            // A process that is not seen here.
            let folder = try FileDescriptor.open("\(senders)/\(sender.pid)", O_RDONLY | O_DIRECTORY)
            let isTaken = try folder.tryLock(.shared)
            #expect(isTaken)
            #expect(SenderFolder.all(in: broadcast).map { $0.read("viewers", limit: 100) } == ["x"])
        }
        #expect(SenderFolder.all(in: broadcast).isEmpty)
        // What is no sender's is left alone.
        #expect(names(senders) == ["viewers"])
    }

    /// A sender that was taken over may have put anything there.
    @Test(arguments: ["link", "pipe", "folder", "open", "foreign folder", "linked folder"])
    func whatIsPlantedTellsNothingAndHoldsNobody(kind: String) throws {
        let own = try SenderFolder(in: broadcast)
        let (file, outside) = (own.path + "/viewers", scratch.file("outside"))
        try FileDescriptor.open(outside, O_WRONLY | O_CREAT).write("outside")
        switch kind {
        case "link": symlink(outside, file)
        case "pipe": mkfifo(file, 0o600)
        case "folder": mkdir(file, 0o700)
        case "open":
            try own.replace("viewers", with: "x")
            chmod(file, 0o644)
        case "foreign folder":
            try own.replace("viewers", with: "x")
            chmod(own.path, 0o755)
        default:
            rmdir(own.path)
            mkdir(scratch.file("away"), 0o700)
            try FileDescriptor.open(scratch.file("away/viewers"), O_WRONLY | O_CREAT).write("away")
            symlink(scratch.file("away"), own.path)
        }
        #expect(SenderFolder.all(in: broadcast).compactMap { $0.read("viewers", limit: 100) } == [])
        #expect(try FileDescriptor.open(outside, O_RDONLY).readBytes(100) == Array("outside".utf8))
    }

    /// Whoever opens the lock for reading alone is seen to come and go, as whoever opens it for writing too.
    @Test(arguments: [O_RDONLY, O_RDWR])
    func aWriterIsToldOfReadersAtOnce(access: Int32) throws {
        let writer = try FrameWriter(directory: broadcast, source: "", framesPerSecond: 30)
        let watch = broadcast.watch()
        _ = watch.take()
        do {
            let lock = try FileDescriptor.open(broadcast.path + "/reader.lock", access)
            let isTaken = try lock.tryLock(.shared)
            #expect(isTaken)
            lock.touch()
            let isTold = watch.take()
            #expect(isTold)
            let hasReaders = writer.hasReaders
            #expect(hasReaders)
        }
        let isTold = watch.take()
        #expect(isTold)
        let hasReaders = writer.hasReaders
        #expect(!hasReaders)
    }

    private func plant(_ folder: String, _ files: [String]) throws {
        mkdir(senders, 0o700)
        mkdir("\(senders)/\(folder)", 0o700)
        for file in files { try FileDescriptor.open("\(senders)/\(folder)/\(file)", O_WRONLY | O_CREAT).write("x") }
    }

    private func names(_ path: String) -> [String] {
        let folder = try? FileDescriptor.open(path, O_RDONLY | O_DIRECTORY)
        return (folder?.entries() ?? []).filter { $0 != "." && $0 != ".." }
    }
}
