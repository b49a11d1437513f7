/// Answers from a pipe: the number of the question in a byte, and for each file its length in four bytes, the lowest
/// first, before its content. All bits of the length are set for a file that cannot be read. Sans-IO.
package struct FileAnswers {
    private static let missing = UInt32.max

    private let fileCount: Int
    private var bytes: [UInt8] = []

    package init(fileCount: Int) { self.fileCount = fileCount }

    package mutating func take(_ more: [UInt8]) { bytes += more }

    /// Takes the first answer; nil if it has not come completely.
    package mutating func next() -> (number: UInt8, files: [[UInt8]?])? {
        guard let number = bytes.first else { return nil }
        var rest = bytes.dropFirst()
        var files: [[UInt8]?] = []
        for _ in 0..<fileCount {
            guard rest.count >= 4 else { return nil }
            let length = rest.prefix(4).reversed().reduce(0 as UInt32) { $0 << 8 | UInt32($1) }
            rest = rest.dropFirst(4)
            if length == Self.missing {
                files.append(nil)
            } else {
                guard rest.count >= Int(length) else { return nil }
                files.append(Array(rest.prefix(Int(length))))
                rest = rest.dropFirst(Int(length))
            }
        }
        bytes = Array(rest)
        return (number, files)
    }

    package static func bytes(_ number: UInt8, _ files: [[UInt8]?]) -> [UInt8] {
        var bytes = [number]
        for file in files {
            let length = file.map { UInt32($0.count) } ?? missing
            bytes += (0..<4).map { UInt8(truncatingIfNeeded: length >> ($0 * 8)) } + (file ?? [])
        }
        return bytes
    }
}
