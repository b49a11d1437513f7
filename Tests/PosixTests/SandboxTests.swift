import Glibc
import Synchronization
import TestSupport
import Testing

@testable import Posix

/// What a process can still do once it has given the rest up. Each test is a process of its own.
@Suite struct SandboxTests {
    /// Invariant: confined.
    @Test func whatAnIntruderWouldWantIsRefused() async {
        await #expect(processExitsWith: .success) {
            let folder = try TemporaryDirectory()
            let outside = try TemporaryDirectory()
            try FileDescriptor.open(outside.file("old"), O_WRONLY | O_CREAT).write("old")
            let bound = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            try Sandbox(writable: folder.path, readable: [], socketFamilies: [AF_INET])
                .enter { Issue.record("\($0)") }

            expectRefused { listen(bound, 1) }
            expectRefused { socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0) }
            expectRefused { socket(AF_INET6, Int32(SOCK_DGRAM.rawValue), 0) }
            expectRefused { execv("/bin/true", [strdup("true"), nil]) }
            var child = pid_t()
            var arguments: [UnsafeMutablePointer<CChar>?] = [strdup("true"), nil]
            expectRefused {
                errno = posix_spawn(&child, "/bin/true", nil, nil, &arguments, environ)
                return errno == 0 ? 0 : -1
            }
            expectRefused { chroot("/") }
            expectRefused { kill(getppid(), SIGCONT) }
            expectRefused { open(outside.file("new"), O_WRONLY | O_CREAT, 0o600) }
            expectRefused { symlink(outside.file("old"), folder.file("link")) }
            expectRefused { open(outside.file("old"), O_WRONLY) }
            expectRefused { open(outside.file("old"), O_RDONLY) }
            expectRefused { truncate(outside.file("old"), 0) }
            expectRefused { unlink(outside.file("old")) }
            expectRefused { mkdir(outside.file("folder"), 0o700) }
            expectRefused { open("/proc/\(getppid())/mem", O_RDONLY) }
            expectRefused { opendir(outside.path) == nil ? -1 : 0 }
            expectRefused { opendir("/dev/shm") == nil ? -1 : 0 }
            expectRefused { open("/dev/ptmx", O_RDWR) }
            expectRefused { chmod(outside.file("old"), 0o666) }
            expectRefused { shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0o600) }
            expectRefused { semget(IPC_PRIVATE, 1, 0o600) }
            expectRefused { msgget(IPC_PRIVATE, 0o600) }
            expectRefused { setpriority(__priority_which_t(PRIO_PROCESS.rawValue), id_t(getppid()), 19) }
            expectRefused { setpriority(__priority_which_t(PRIO_USER.rawValue), 0, 19) }
            exit(EXIT_SUCCESS)
        }
    }

    @Test func whatIsNeededStillWorks() async {
        await #expect(processExitsWith: .success) {
            let folder = try TemporaryDirectory()
            let shared = try TemporaryDirectory()
            try FileDescriptor.open(shared.file("shared"), O_WRONLY | O_CREAT).write("shared")
            try Sandbox(
                writable: folder.path,
                readable: [shared.path],
                socketFamilies: [AF_INET, AF_UNIX],
                mayListen: true,
                sharesSegments: true
            ).enter { Issue.record("\($0)") }

            let file = try FileDescriptor.open(folder.file("a"), O_RDWR | O_CREAT)
            try file.write("text")
            try check("ftruncate") { ftruncate(file.raw, 2) }
            try check("rename") { rename(folder.file("a"), folder.file("b")) }
            try check("unlink") { unlink(folder.file("b")) }
            try check("open") { open(shared.file("shared"), O_RDONLY) }
            expectRefused { open(shared.file("shared"), O_WRONLY) }
            expectRefused { rename(shared.file("shared"), folder.file("mine")) }
            try check("open") { open("/etc/hosts", O_RDONLY) }
            for device in ["null", "random", "urandom"] { try check("open") { open("/dev/\(device)", O_RDONLY) } }
            try check("open") { open("/proc/\(getppid())/stat", O_RDONLY) }
            try check("socket") { socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0) }
            let listener = try check("socket") { socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0) }
            try check("listen") { listen(listener, 1) }
            try check("kill") { kill(getpid(), 0) }
            let segment = try check("shmget") { shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0o600) }
            let memory = shmat(segment, nil, 0)
            try check("shmctl") { shmctl(segment, IPC_RMID, nil) }
            #expect(memory != UnsafeMutableRawPointer(bitPattern: -1))
            try check("shmdt") { shmdt(memory) }
            var bytes: Int32 = 0
            try check("ioctl") { ioctl(file.raw, UInt(FIONREAD), &bytes) }
            try check("setpriority") { setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, 1) }
            try check("fchmod") { fchmod(file.raw, 0o600) }
            var limit = rlimit()
            try check("getrlimit") { getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) }
            let ran = Atomic(false)
            try Thread { ran.store(true, ordering: .relaxed) }.join()
            let hasRun = ran.load(ordering: .relaxed)
            #expect(hasRun)
            exit(EXIT_SUCCESS)
        }
    }

    /// What another program has is no more than its starter.
    @Test func aProgramThatIsStartedIsBoundToo() async {
        await #expect(processExitsWith: .success) {
            let (folder, outside) = (try TemporaryDirectory(), try TemporaryDirectory())
            try Sandbox(writable: folder.path, readable: nil, socketFamilies: [AF_UNIX], startsPrograms: true)
                .enter { Issue.record("\($0)") }

            expectRefused { kill(getppid(), SIGCONT) }
            expectRefused { open(outside.file("new"), O_WRONLY | O_CREAT, 0o600) }
            expectRefused { socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0) }
            let script = """
                exec 2> /dev/null
                echo new > \(folder.file("new")) || exit 3
                (echo new > \(outside.file("new"))) && exit 4
                kill -TERM \(getpid()) && exit 5
                exec yes
                """
            let output = try openPipe()
            let child = try ChildProcess(
                "sh",
                arguments: ["sh", "-c", script],
                descriptors: [nil, output.writing, 2],
                tie: .group
            )
            var byte = UInt8(0)
            let count = read(output.reading, &byte, 1)
            try check("kill") { kill(child.pid, SIGINT) }
            waitReadable(child.descriptor.raw, until: nil)
            let exited = child.takeExit()
            exit(count == 1 && exited == .signal(SIGINT) ? EXIT_SUCCESS : EXIT_FAILURE)
        }
    }

    /// Rules of its own take from a program what its starter has.
    @Test func aProgramMayHaveLessThanItsStarter() async {
        await #expect(processExitsWith: .success) {
            let (folder, own) = (try TemporaryDirectory(), try TemporaryDirectory())
            for path in [folder.file("old"), own.file("old")] {
                try FileDescriptor.open(path, O_WRONLY | O_CREAT).write("old")
            }
            let sandbox = Sandbox(writable: nil, readable: [own.path], socketFamilies: [], startsPrograms: true)
            guard let rules = try sandbox.fileRules(report: { Issue.record("\($0)") }) else { exit(EXIT_FAILURE) }
            try Sandbox(writable: folder.path, readable: [own.path], socketFamilies: [], startsPrograms: true)
                .enter { Issue.record("\($0)") }

            let script = """
                exec 2> /dev/null
                (: < \(own.file("old"))) || exit 2
                (: < \(folder.file("old"))) && exit 3
                (: >> \(folder.file("old"))) && exit 4
                (: > \(folder.file("new"))) && exit 5
                exit 0
                """
            let child = try ChildProcess(
                "sh",
                arguments: ["sh", "-c", script],
                descriptors: [nil, nil, 2],
                tie: .child,
                boundBy: rules.raw
            )
            waitReadable(child.descriptor.raw, until: nil)
            let ended = child.takeExit()
            try Posix.write("\(ended?.description ?? "")\n", to: 2)
            try check("open") { open(folder.file("old"), O_RDWR) }
            exit(ended == .code(0) ? EXIT_SUCCESS : EXIT_FAILURE)
        }
    }

    /// In the foreground of a terminal that passes for the user's: what is typed there goes to the shell in the end.
    @Test func aTerminalTakesNothingForTyped() async {
        await #expect(processExitsWith: .success) {
            setsid()
            let master = try check("open") { open("/dev/ptmx", O_RDWR | O_NOCTTY) }
            var lock: Int32 = 0
            try check("TIOCSPTLCK") { ioctl(master, 0x4004_5431, &lock) }
            let terminal = try check("TIOCGPTPEER") { ioctl(master, 0x5441, O_RDWR | O_NOCTTY | O_NONBLOCK) }
            try check("TIOCSCTTY") { ioctl(terminal, UInt(TIOCSCTTY), 0) }
            var letter = UInt8(ascii: "x")
            try Sandbox(writable: nil, readable: nil, socketFamilies: []).enter { Issue.record("\($0)") }

            // Of the number, the kernel looks at the lower half.
            for above in [0, 1 << 32, UInt.max << 32] {
                for request in [TIOCSTI, TIOCLINUX, TIOCSETD, TIOCCONS, TIOCSPGRP, TIOCSCTTY, TCSETS] {
                    expectRefused { ioctl(terminal, UInt(request) | above, &letter) }
                }
            }
            letter = UInt8(ascii: "\n")
            expectRefused { ioctl(terminal, UInt(TIOCSTI), &letter) }
            var typed = UInt8(0)
            guard read(terminal, &typed, 1) == -1, errno == EAGAIN else { exit(EXIT_FAILURE) }
            exit(isatty(terminal) == 1 ? EXIT_SUCCESS : EXIT_FAILURE)
        }
    }

    /// Threads that were there before are bound by what seccomp refuses.
    @Test func otherThreadsMayNotOpenSocketsEither() async {
        await #expect(processExitsWith: .success) {
            let folder = try TemporaryDirectory()
            let isInside = try EventSignal()
            let descriptor = isInside.raw
            let thread = try Thread {
                waitReadable(descriptor, until: nil)
                expectRefused { socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0) }
            }
            try Sandbox(writable: folder.path, readable: nil, socketFamilies: []).enter {
                Issue.record("\($0)")
            }
            isInside.set()
            thread.join()
            // It is there until the thread has heard of it.
            isInside.clear()
            exit(EXIT_SUCCESS)
        }
    }
}

/// In a process that is about to end: ends it at once with a failure unless the call is refused.
private func expectRefused(line: Int = #line, _ call: () -> some SignedInteger) {
    errno = 0
    let result = call()
    if result == -1, errno == EPERM || errno == EACCES { return }
    try? Posix.write("line \(line): result \(result), error \(errno)\n", to: 2)
    exit(EXIT_FAILURE)
}
