import FoundationEssentials

extension Encodable {
    /// JSON without a line feed. Keys are in snake_case, in the order of their bytes. Slashes are not escaped. A
    /// property's name must have no acronym after its first letter: `plain_rtp` would not be read as `plainRTP` again.
    ///
    /// - Throws: `EncodingError`, for a number that is not finite.
    package func jsonLine() throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        encoder.keyEncodingStrategy = .convertToSnakeCase
        return String(decoding: try encoder.encode(self), as: UTF8.self)
    }

    /// The same without control characters, which a terminal would obey.
    package func printableJSONLine() throws -> String { try jsonLine().escapingControlsOfJSON() }
}

extension Decodable {
    /// Reads the output of `jsonLine`.
    ///
    /// - Throws: `DecodingError`, for a text that is not JSON or has another type.
    package init(jsonLine line: String) throws {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        self = try decoder.decode(Self.self, from: Data(line.utf8))
    }
}
