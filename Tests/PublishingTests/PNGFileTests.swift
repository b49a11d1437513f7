import Glibc
import Helpers
import Pixels
import Posix
import TestSupport
import Testing

@testable import Publishing

@Suite struct PNGFileTests {
    private let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory() }

    @Test func aPictureIsReplaced() throws {
        let size = PixelSize(width: 3, height: 2)
        let rgb = (0..<18).map { UInt8($0) }
        for _ in 0..<2 {
            try PNGFile.write(rgb: rgb, size: size, to: folder.file("picture"))
            let file = try FileDescriptor.open(folder.file("picture"), O_RDONLY)
            #expect(try file.readBytes(1 << 10) == PNGFile.bytes(rgb: rgb, size: size))
        }
        let failure = #expect(throws: Failure.self) {
            try PNGFile.write(rgb: rgb, size: size, to: folder.file("none/picture"))
        }
        #expect(failure?.sentence.contains("none/picture") == true)
    }
}
