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
        path, given = sys.argv[1:]
        for count in range(50):
            asker.sendto(b"", path)
            asker.sendto(b"rubbish", path)
            for number in 1, 2:
                rights = array.array("i", [os.open(given, 0) for file in range(number)])
                asker.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)], 0, path)
                for file in rights: os.close(file)
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
        let given = folder.file("given")
        try FileDescriptor.open(given, O_WRONLY | O_CREAT).write("")
        try Subprocess.run(["python3", "-c", Self.rubbish, folder.file("service"), given])
        #expect(try ask() == (true, 4096))
        let files = try FileDescriptor.open("/proc/self/fd", O_RDONLY | O_DIRECTORY).entries()
        #expect(!files.contains { link(of: "/proc/self/fd/\($0)") == given })
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

    private func link(of path: String) -> String? {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(PATH_MAX)) { target in
            let count = readlink(path, target.baseAddress!, target.count)
            return count < 0 ? nil : String(decoding: target[..<count].map(UInt8.init(bitPattern:)), as: UTF8.self)
        }
    }
}
