import Glibc
import TestSupport
import Testing
import Time

@testable import Posix

@Suite struct DescriptorServiceTests {
    /// Messages that ask for nothing, or bring too much.
    private static let rubbish = """
        import array, os, socket, sys
        asker = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        path = sys.argv[1]
        for count in range(50):
            asker.sendto(b"", path)
            asker.sendto(b"rubbish", path)
            pair = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
            ends = array.array("i", [end.fileno() for end in pair])
            asker.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, ends)], 0, path)
            asker.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [os.open("/dev/null", 0)]))], 0, path)
        """

    @Test func rubbishNeitherEndsTheServiceNorLeaksDescriptors() throws {
        let folder = try TemporaryDirectory()
        let directory = try FileDescriptor.open(folder.path, O_RDONLY | O_DIRECTORY)
        let memory = try FileDescriptor.memory("test")
        #expect(ftruncate(memory.raw, 4096) == 0)
        try memory.seal()
        let isSealed = memory.isSealed
        #expect(isSealed)
        let service = try DescriptorService(giving: memory, at: "service", in: directory)
        let asker = try FileDescriptor.datagramSocket()
        func ask() throws -> (isSealed: Bool, size: off_t) {
            let deadline: Instant = MonotonicClock.now() + patience
            let gift = try DescriptorService.ask(at: "service", in: directory, with: asker, until: deadline)
            return (gift.isSealed, try gift.status().st_size)
        }
        #expect(try ask() == (true, 4096))
        // Counted by the system: other tests of this process open files of their own.
        try Subprocess.run(["python3", "-c", Self.rubbish, folder.file("service")])
        #expect(try ask() == (true, 4096))
        let sockets = try FileDescriptor.open("/proc/self/fd", O_RDONLY | O_DIRECTORY).entries().count
        #expect(sockets < 150, "\(sockets) descriptors are open")
        withExtendedLifetime(service) {}
    }

    @Test func whoDoesNotServeIsNamed() throws {
        let folder = try TemporaryDirectory()
        let directory = try FileDescriptor.open(folder.path, O_RDONLY | O_DIRECTORY)
        let asker = try FileDescriptor.datagramSocket()
        #expect(throws: SystemError("sendmsg", code: ENOENT)) {
            _ = try DescriptorService.ask(at: "service", in: directory, with: asker, until: MonotonicClock.now())
        }
        do {
            let service = try DescriptorService(giving: FileDescriptor.memory("test"), at: "service", in: directory)
            withExtendedLifetime(service) {}
        }
        // A process that another test starts just now holds the socket until it has become its program.
        try wait(until: "nobody is there") {
            do throws(SystemError) {
                _ = try DescriptorService.ask(at: "service", in: directory, with: asker, until: MonotonicClock.now())
                return false
            } catch {
                return error == SystemError("sendmsg", code: ECONNREFUSED)
            }
        }
    }
}
