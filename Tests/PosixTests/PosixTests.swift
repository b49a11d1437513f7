import Glibc
import Posix
import Synchronization
import TestSupport
import Testing
import Time

@Suite struct PosixTests {
    private func scratch(_ bytes: Int) -> FileDescriptor {
        var template = Array("/tmp/oriel-posix.XXXXXX".utf8CString)
        let raw = mkstemp(&template)
        unlink(&template)
        ftruncate(raw, off_t(bytes))
        return FileDescriptor(taking: raw)
    }

    @Test func aGuardedReadOfAShrunkFileEndsInNilForGood() throws {
        let file = scratch(8192)
        let mapping = try Mapping(file, size: 8192, writable: true)
        #expect(mapping.guarded { mapping.load64(4096) } == 0)
        ftruncate(file.raw, 4096)
        #expect(mapping.guarded { mapping.load64(0) } == 0)
        #expect(mapping.guarded { mapping.load64(4096) } == nil)
        #expect(mapping.guarded { mapping.load64(0) } == nil)
    }

    /// No ring is lost, and one that changes nothing does not end the wait.
    @Test func aBellWaitsUntilSomethingIsSo() throws {
        let bell = Bell()
        let count = Mutex(0)
        let thread = try Thread {
            for _ in 0..<3 {
                count.withLock { $0 += 1 }
                bell.ring()
            }
        }
        let isSo = bell.wait { count.withLock { $0 == 3 } }
        thread.join()
        #expect(isSo && count.withLock { $0 } == 3)
        let past: Instant = MonotonicClock.now()
        let (isSoByThen, isNever) = (bell.wait(until: past) { true }, bell.wait(until: past) { false })
        #expect(isSoByThen && !isNever)
    }

    /// Runs a program and returns what it printed.
    private func lines(
        of program: String...,
        inheriting names: Set<String>? = [],
        environment: [String: String] = [:]
    ) throws -> [String] {
        let output = scratch(0)
        let child = try ChildProcess(
            program[0],
            arguments: program,
            inheriting: names,
            environment: environment,
            descriptors: [nil, output.raw, 2],
            tie: .group
        )
        #expect(waitReadable(child.descriptor.raw, until: MonotonicClock.now() + patience))
        #expect(child.takeExit() == .code(0))
        let text = String(decoding: try output.readBytes(1 << 20), as: UTF8.self)
        return text.split(separator: "\n").map(String.init)
    }

    /// Secrets may be in the environment.
    @Test func aProgramInheritsOnlyWhatIsNamed() throws {
        func environment(inheriting names: Set<String>?) throws -> [String] {
            try lines(of: "/usr/bin/env", inheriting: names, environment: ["ORIEL_TEST": "1"])
        }
        let path = "PATH=" + String(cString: try #require(getenv("PATH")))
        let all = try environment(inheriting: nil)
        #expect(all.contains(path) && all.contains("ORIEL_TEST=1"))
        #expect(try environment(inheriting: []) == ["ORIEL_TEST=1"])
        #expect(try environment(inheriting: ["PATH", "ORIEL_TEST"]).sorted() == ["ORIEL_TEST=1", path])
    }

    /// Libraries open sockets that do not close by themselves when a program is started.
    @Test func aProgramInheritsNoOtherDescriptor() throws {
        let file = scratch(0)
        let stray = dup(file.raw)
        defer { close(stray) }
        // The last one is that of the folder.
        #expect(try lines(of: "/bin/ls", "/proc/self/fd") == ["0", "1", "2", "3"])
    }

    @Test func aFaultOutsideTheGuardStillEndsTheProcess() async {
        await #expect(processExitsWith: .signal(SIGBUS)) {
            var template = Array("/tmp/oriel-posix.XXXXXX".utf8CString)
            let file = FileDescriptor(taking: mkstemp(&template))
            unlink(&template)
            ftruncate(file.raw, 4096)
            let mapping = try Mapping(file, size: 4096, writable: true)
            ftruncate(file.raw, 0)
            _ = mapping.load64(0)
        }
    }

    @Test func locksShowThroughOtherOpenFilesOnly() throws {
        let file = scratch(0)
        let other = FileDescriptor(taking: Glibc.open("/proc/self/fd/\(file.raw)", O_RDWR | O_CLOEXEC))
        var taken = try file.tryLock(.exclusive)
        #expect(taken)
        var locked = try file.isLockedByAnother(against: .exclusive)
        #expect(!locked)
        locked = try other.isLockedByAnother(against: .shared)
        #expect(locked)
        taken = try other.tryLock(.shared)
        #expect(!taken)
    }

    @Test func aFutexWaitEndsAtItsDeadlineOrAtOnceWhenTheWordMovedOn() throws {
        let file = scratch(4096)
        let mapping = try Mapping(file, size: 4096, writable: true)
        mapping.advanceAndWake(128)
        mapping.wait(128, while: 0, until: Instant(nanoseconds: .max / 2))
        let deadline: Instant = MonotonicClock.now() + .milliseconds(2)
        mapping.wait(128, while: 1, until: deadline)
        #expect(MonotonicClock.now() >= deadline)
    }
}
