import Glibc
import Posix
import Synchronization
import TestSupport
import Testing

/// What a process can still do once it has given the rest up. Each test is a process of its own.
@Suite struct SandboxTests {
    @Test func whatAnIntruderWouldWantIsRefused() async {
        await #expect(processExitsWith: .success) {
            let folder = try TemporaryDirectory()
            let outside = try TemporaryDirectory()
            try FileDescriptor.open(outside.file("old"), O_WRONLY | O_CREAT).write("old")
            let bound = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            try Sandbox(folder: folder.path, limitsReading: true, socketFamilies: [AF_INET], mayListen: false)
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
            expectRefused { open(outside.file("old"), O_WRONLY) }
            expectRefused { open(outside.file("old"), O_RDONLY) }
            expectRefused { truncate(outside.file("old"), 0) }
            expectRefused { unlink(outside.file("old")) }
            expectRefused { mkdir(outside.file("folder"), 0o700) }
            expectRefused { open("/proc/\(getppid())/mem", O_RDONLY) }
            expectRefused { opendir(outside.path) == nil ? -1 : 0 }
            exit(EXIT_SUCCESS)
        }
    }

    @Test func whatIsNeededStillWorks() async {
        await #expect(processExitsWith: .success) {
            let folder = try TemporaryDirectory()
            try Sandbox(
                folder: folder.path,
                limitsReading: true,
                socketFamilies: [AF_INET, AF_UNIX],
                mayListen: true
            ).enter { Issue.record("\($0)") }

            let file = try FileDescriptor.open(folder.file("a"), O_RDWR | O_CREAT)
            try file.write("text")
            try check("truncate") { truncate(folder.file("a"), 2) }
            try check("rename") { rename(folder.file("a"), folder.file("b")) }
            try check("unlink") { unlink(folder.file("b")) }
            try check("open") { open("/etc/hosts", O_RDONLY) }
            try check("open") { open("/proc/\(getppid())/stat", O_RDONLY) }
            try check("socket") { socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0) }
            let listener = try check("socket") { socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0) }
            try check("listen") { listen(listener, 1) }
            try check("kill") { kill(getpid(), 0) }
            #expect(kill(getppid(), 0) == 0 || errno == EPERM)
            let ran = Atomic(false)
            try Thread { ran.store(true, ordering: .relaxed) }.join()
            let hasRun = ran.load(ordering: .relaxed)
            #expect(hasRun)
            exit(EXIT_SUCCESS)
        }
    }

    /// Threads that were there before are bound by what seccomp refuses.
    @Test func otherThreadsMayNotOpenSocketsEither() async {
        await #expect(processExitsWith: .success) {
            let folder = try TemporaryDirectory()
            let isInside = try EventSignal()
            let descriptor = isInside.raw
            let thread = try Thread {
                waitReadable(descriptor, until: .max)
                expectRefused { socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0) }
            }
            try Sandbox(folder: folder.path, limitsReading: false, socketFamilies: [], mayListen: false).enter {
                Issue.record("\($0)")
            }
            isInside.set()
            thread.join()
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
