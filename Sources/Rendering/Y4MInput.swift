package import Pixels
package import Posix

/// Reads the pictures of `Y4MOutput` from a pipe. Never waits.
package struct Y4MInput: ~Copyable {
    /// The stream is not one of this program.
    package struct Malformed: Error, CustomStringConvertible {
        package let description = "the input is no stream of pictures"
    }

    private enum Part {
        case line([UInt8])
        /// Bytes of a picture so far.
        case picture(Int)
    }

    private let file: FileDescriptor
    private var header: Y4MHeader?
    private var part = Part.line([])
    /// Y, U and V of the picture that is being read.
    private var bytes: [UInt8] = []
    package private(set) var hasEnded = false

    /// - Parameter file: must not block.
    package init(_ file: consuming FileDescriptor) { self.file = file }

    /// Readable when `read` may have something to do. Owned by the input.
    package var descriptor: Int32 { file.raw }

    /// Reads until a picture is complete. Returns whether one is, in `picture`; false if the rest is yet to come, or
    /// the stream has ended.
    package mutating func read(into picture: inout PlanarPicture) throws -> Bool {
        while true {
            switch part {
            case .line(var line):
                var byte: UInt8 = 0
                let count = try withUnsafeMutableBytes(of: &byte) { try readAvailable(from: descriptor, into: $0) }
                if count == 0 { hasEnded = true }
                guard count == 1 else { return false }
                if byte != 0x0A {
                    line.append(byte)
                    guard line.count < Y4MHeader.longest else { throw Malformed() }
                    part = .line(line)
                } else if line + [byte] == Y4MHeader.frame, let header {
                    let size = header.size.width * header.size.height * 3 / 2
                    if bytes.count != size { bytes = Array(repeating: 0, count: size) }
                    part = .picture(0)
                } else {
                    header = Y4MHeader(parsing: String(decoding: line, as: UTF8.self))
                    guard header != nil else { throw Malformed() }
                    part = .line([])
                }
            case .picture(let done):
                let raw = descriptor
                let count = try bytes.withUnsafeMutableBytes {
                    try readAvailable(from: raw, into: UnsafeMutableRawBufferPointer(rebasing: $0[done...]))
                }
                if count == 0 { hasEnded = true }
                guard let count, count > 0 else { return false }
                part = .picture(done + count)
                guard done + count == bytes.count, let header else { continue }
                part = .line([])
                var rest = bytes[...]
                picture.read(header.size) { plane in
                    plane.copyBytes(from: rest.prefix(plane.count))
                    rest = rest.dropFirst(plane.count)
                }
                return true
            }
        }
    }
}
