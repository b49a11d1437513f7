import Glibc
import Posix
import TestSupport
import Testing
import Time

struct LocalSocketTests {
    private let scratch: TemporaryDirectory
    private let folder: FileDescriptorBox
    private var soon: Instant { MonotonicClock.now() + .milliseconds(50) }
    private var late: Instant { MonotonicClock.now() + .seconds(60) }

    init() throws {
        scratch = try TemporaryDirectory()
        folder = FileDescriptorBox(try FileDescriptor.open(scratch.path, O_RDONLY | O_DIRECTORY))
    }

    @Test(arguments: [0, 1, 4095, 4096, 4097, 300_000])
    func aLineArrivesWhole(length: Int) throws {
        let listener = try LocalListener(at: "socket", in: folder.descriptor)
        let isAsked = listener.accept() != nil
        #expect(!isAsked)
        let line = String((0..<length).map { Character(Unicode.Scalar(UInt8(32 + $0 % 90))) })
        let asker = try LineChannel(to: "socket", in: folder.descriptor, until: late)
        let answerer = listener.accept()!
        let late = late
        // The buffers of the kernel do not hold the longest one.
        let thread = try Thread { try? asker.send(line, until: late) }
        #expect(try answerer.receive(limit: length, until: late) == line)
        thread.join()
    }

    @Test func whatIsTooLongLateOrCutShortIsAnError() throws {
        let listener = try LocalListener(at: "socket", in: folder.descriptor)
        let asker = try LineChannel(to: "socket", in: folder.descriptor, until: late)
        do {
            let answerer = listener.accept()!
            #expect(throws: SystemError("recv", code: ETIMEDOUT)) { try answerer.receive(limit: 5, until: soon) }
            try asker.send("123456", until: late)
            #expect(throws: SystemError("recv", code: EMSGSIZE)) { try answerer.receive(limit: 5, until: late) }
            // Nobody takes it.
            let long = String(repeating: "x", count: 1 << 22)
            #expect(throws: SystemError("send", code: ETIMEDOUT)) { try asker.send(long, until: soon) }
        }
        #expect(throws: SystemError("send", code: EPIPE)) { try asker.send("x", until: late) }
    }

    @Test func anEndBeforeTheLineEndsIsAnError() throws {
        let listener = try LocalListener(at: "socket", in: folder.descriptor)
        do { _ = try LineChannel(to: "socket", in: folder.descriptor, until: late) }
        let answerer = listener.accept()!
        let isAbandoned = answerer.isAbandoned
        #expect(isAbandoned)
        #expect(throws: SystemError("recv", code: EBADMSG)) { try answerer.receive(limit: 5, until: late) }
    }

    /// As when others were waited for meanwhile.
    @Test func whatHasComeIsTakenThoughTheTimeIsUp() throws {
        let listener = try LocalListener(at: "socket", in: folder.descriptor)
        let asker = try LineChannel(to: "socket", in: folder.descriptor, until: late)
        let answerer = listener.accept()!
        let line = String(repeating: "x", count: 50_000)
        try asker.send(line, until: late)
        #expect(try answerer.receive(limit: 50_000, until: MonotonicClock.now()) == line)
        let isAbandoned = answerer.isAbandoned
        #expect(!isAbandoned)
    }

    /// Invariant: hungSender.
    @Test(arguments: ["nothing", "dead", "file", "link", "folder", "pipe"])
    func onlyAListenerIsConnectedTo(kind: String) throws {
        let listener = try LocalListener(at: "socket", in: folder.descriptor)
        var code = ENOTSOCK
        switch kind {
        case "nothing": code = ENOENT
        case "dead":
            code = ECONNREFUSED
            _ = try LocalListener(at: "other", in: folder.descriptor)
        case "file": close(open(scratch.file("other"), O_CREAT | O_WRONLY, 0o600))
        case "link": symlink(scratch.file("socket"), scratch.file("other"))
        case "folder": mkdir(scratch.file("other"), 0o700)
        default: mkfifo(scratch.file("other"), 0o600)
        }
        #expect(throws: SystemError("connect", code: code)) {
            _ = try LineChannel(to: "other", in: folder.descriptor, until: late)
        }
        let isAsked = listener.accept() != nil
        #expect(!isAsked)
    }

    /// A process that is stopped, say: others go on.
    @Test func aListenerThatTakesNobodyHoldsNobody() throws {
        let listener = try LocalListener(at: "socket", in: folder.descriptor)
        var waiting: [ChannelBox] = []
        #expect(throws: SystemError("connect", code: ETIMEDOUT)) {
            for _ in 0..<1000 {
                waiting.append(ChannelBox(try LineChannel(to: "socket", in: folder.descriptor, until: soon)))
            }
        }
        #expect(!waiting.isEmpty)
        withExtendedLifetime(listener) {}
    }

    @Test func theSocketIsItsOwnersAlone() throws {
        let listener = try LocalListener(at: "socket", in: folder.descriptor)
        var info = stat()
        #expect(lstat(scratch.file("socket"), &info) == 0 && info.st_mode == S_IFSOCK | 0o600)
        #expect(throws: SystemError("bind", code: EADDRINUSE)) {
            _ = try LocalListener(at: "socket", in: folder.descriptor)
        }
        withExtendedLifetime(listener) {}
    }
}

/// For closures, which take no value without copies.
private final class FileDescriptorBox {
    let descriptor: FileDescriptor
    init(_ descriptor: consuming FileDescriptor) { self.descriptor = descriptor }
}

private final class ChannelBox {
    let channel: LineChannel
    init(_ channel: consuming LineChannel) { self.channel = channel }
}
