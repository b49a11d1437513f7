import FrameBridge
import Glibc
import Posix
import TestSupport
import Testing
import Time

@Suite(.serialized) struct ProcessFolderTests {
    private let scratch: TemporaryDirectory
    private let broadcast: BridgeDirectory
    private let late: Instant = MonotonicClock.now() + patience
    private var senders: String { broadcast.path + "/senders" }

    init() throws {
        scratch = try TemporaryDirectory()
        broadcast = try BridgeDirectory(path: scratch.file("bridge"), create: true)
    }

    @Test func aSenderFindsItsFolderEmpty() throws {
        #expect(ProcessFolder.all(.sender, in: broadcast).isEmpty)
        // Of one that had the same number.
        try plant("\(getpid())", ["control", "request"])
        do {
            let own = try ProcessFolder(.sender, in: broadcast)
            #expect(own.path == "\(senders)/\(getpid())")
            #expect(names(own.path) == [])
            let isHeld = try FileDescriptor.open(own.path, O_RDONLY).isLockedByAnother(against: .exclusive)
            #expect(isHeld)
            let listener = try own.listen()
            #expect(names(own.path) == ["control"])
            let found = ProcessFolder.all(.sender, in: broadcast)
            #expect(found.map(\.pid) == [getpid()])
            try found[0].connect(until: late).send("hello", until: late)
            let line = try listener.accept()?.receive(limit: 5, until: late)
            #expect(line == "hello")
        }
        // A child that another test starts has the lock, too, until it runs its program.
        try wait(until: "the lock is gone") {
            guard let successor = try? ProcessFolder(.sender, in: broadcast) else { return false }
            return names(successor.path) == []
        }
    }

    @Test func theFoldersOfTheDeadGo() throws {
        let sender = try Subprocess(["sleep", "1000"])
        try plant("\(sender.pid)", ["control"])
        let foreign = ["+\(sender.pid)", "0\(sender.pid)", "viewers"]
        for name in foreign { try plant(name, ["viewers"]) }
        #expect(ProcessFolder.all(.sender, in: broadcast).map(\.path) == ["\(senders)/\(sender.pid)"])
        sender.kill(SIGKILL)
        try sender.wait()
        do {
            // A process that is not seen here.
            let folder = try FileDescriptor.open("\(senders)/\(sender.pid)", O_RDONLY | O_DIRECTORY)
            let isTaken = try folder.tryLock(.shared)
            #expect(isTaken)
            #expect(ProcessFolder.all(.sender, in: broadcast).map(\.pid) == [sender.pid])
        }
        // A child that another test starts has the descriptor too, and with it the lock, until it runs its program.
        try wait(until: "the lock is gone") { ProcessFolder.all(.sender, in: broadcast).isEmpty }
        // What is no sender's is left alone.
        #expect(Set(names(senders)) == Set(foreign))
    }

    /// A sender that was taken over may have put anything there.
    @Test(arguments: ["link", "pipe", "folder", "file", "foreign folder", "linked folder"])
    func whatIsPlantedIsNotConnectedTo(kind: String) throws {
        let own = try ProcessFolder(.sender, in: broadcast)
        let socket = own.path + "/control"
        mkdir(scratch.file("away"), 0o700)
        let away = try FileDescriptor.open(scratch.file("away"), O_RDONLY | O_DIRECTORY)
        let other = try LocalListener(at: "control", in: away)
        switch kind {
        case "link": symlink(scratch.file("away/control"), socket)
        case "pipe": mkfifo(socket, 0o600)
        case "folder": mkdir(socket, 0o700)
        case "file": close(open(socket, O_WRONLY | O_CREAT, 0o600))
        case "foreign folder": chmod(own.path, 0o755)
        default:
            rmdir(own.path)
            symlink(scratch.file("away"), own.path)
        }
        for folder in ProcessFolder.all(.sender, in: broadcast) {
            #expect(throws: SystemError.self) { _ = try folder.connect(until: late) }
        }
        let isAsked = other.accept() != nil
        #expect(!isAsked)
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
        try wait(until: "nobody reads") { !writer.hasReaders }
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
