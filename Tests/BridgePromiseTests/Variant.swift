import Glibc
import Posix
import Testing

/// A build of `bridge-peer`: the correct one, or one with a mistake that a promise's test must find.
struct Variant: Sendable, CustomTestStringConvertible {
    let name: String
    /// The storage that the mistake is about.
    let storage: String
    var isCorrect: Bool { name == "correct" }
    var testDescription: String { isCorrect ? "correct, \(storage)" : name }

    private static let folder = "Tests/Mutants"

    /// The correct one with each storage, and all with a mistake that breaks the promise.
    static func of(_ promise: String, storages: [String] = ["file", "memfd"]) -> [Variant] {
        let mutants = names().filter { headers($0)["Promise"] == promise }
        precondition(!mutants.isEmpty, "no mutant breaks \(promise)")
        return storages.map { Variant(name: "correct", storage: $0) }
            + mutants.map { Variant(name: $0, storage: headers($0)["Storage"] ?? "file") }
    }

    static func names() -> [String] {
        guard let folder = try? FileDescriptor.open(folder, O_RDONLY | O_DIRECTORY) else { return [] }
        return folder.entries().filter { $0.hasSuffix(".patch") }.map { String($0.dropLast(6)) }.sorted()
    }

    /// The lines of the form `Key: value` at the start of a patch.
    static func headers(_ name: String) -> [String: String] {
        guard let file = try? FileDescriptor.open("\(folder)/\(name).patch", O_RDONLY),
            let bytes = try? file.readBytes(4096)
        else { return [:] }
        var headers: [String: String] = [:]
        for line in String(decoding: bytes, as: UTF8.self).split(separator: "\n").prefix(3) {
            guard let colon = line.range(of: ": ") else { break }
            headers[String(line[..<colon.lowerBound])] = String(line[colon.upperBound...])
        }
        return headers
    }

    /// Tries a promise: the correct variant keeps it, and each mistake breaks it.
    func judge(_ promise: (Scene) throws -> Void) throws {
        let scene = try Scene(self)
        if isCorrect { return try promise(scene) }
        withKnownIssue("\(name) breaks the promise") { try promise(scene) }
    }
}

extension StringProtocol {
    fileprivate func range(of pattern: String) -> Range<Index>? {
        indices.lazy.compactMap { start in
            self[start...].hasPrefix(pattern) ? start..<index(start, offsetBy: pattern.count) : nil
        }.first
    }
}
