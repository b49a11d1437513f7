import Configuration
import Glibc
import Posix
import Testing

/// Settings on their way to another process.
@Suite struct HandedTests {
    private static func settings() -> CaptureProcessSettings {
        var settings = CaptureProcessSettings(of: "/tmp/a b")
        (settings.source, settings.goesOn) = ("monitor ü\n\"1\"", true)
        return settings
    }

    @Test func theyArriveOnceAndCannotBeChanged() throws {
        let memory = try Handed.memory(of: Self.settings())
        #expect(throws: SystemError.self) { try memory.write([0], at: 0) }
        let (made, descriptor) = (try memory.status(), memory.release())
        #expect(try Handed.take(CaptureProcessSettings.self, from: descriptor) == Self.settings())
        // Another test may have got the number since.
        var found = stat()
        #expect(fstat(descriptor, &found) != 0 || found.st_dev != made.st_dev || found.st_ino != made.st_ino)
    }

    /// Somebody else may have opened such a descriptor.
    @Test func othersAreRefused() throws {
        let text = #"{"broadcast":"/tmp"}"#
        let open = try FileDescriptor.memory("open")
        try open.write(Array(text.utf8), at: 0)
        let sealed = try Handed.memory(of: ["no settings"])
        for descriptor in [open.release(), sealed.release(), -1] {
            #expect(throws: ConfigurationError.self) {
                try Handed.take(CaptureProcessSettings.self, from: descriptor)
            }
        }
    }
}
