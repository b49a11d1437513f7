import Media

extension ViewerCommand: Codable {
    private enum Field: String, CodingKey, CaseIterable {
        case viewport, legibility, source, highlight, message, service, statusFrame, chime
    }

    private static let mostNameBytes = 192

    /// - Throws: `DecodingError` unless it has exactly one command.
    package init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: Field.self)
        guard let field = fields.allKeys.first, fields.allKeys.count == 1 else {
            throw DecodingError.dataCorrupted(.init(codingPath: decoder.codingPath, debugDescription: "no one command"))
        }
        func checked<Value>(_ value: Value?) throws -> Value {
            if let value { return value }
            throw DecodingError.dataCorruptedError(forKey: field, in: fields, debugDescription: "out of range")
        }
        switch field {
        case .viewport:
            let edges = try fields.decodeIfPresent([Int].self, forKey: field)
            self = .viewport(try edges.map { try checked(Viewport($0)) })
        case .legibility: self = .legibility(try fields.decode(Legibility.self, forKey: field))
        case .source:
            let name = try fields.decode(String.self, forKey: field)
            self = .source(try checked(1...Self.mostNameBytes ~= name.utf8.count ? name : nil))
        case .highlight: self = .highlight(try checked(Highlight(try fields.decode([Int].self, forKey: field))))
        case .message: self = .message(try checked(MessageText(try fields.decode(String.self, forKey: field))))
        case .service:
            let message = try fields.decode(ServiceWords.self, forKey: field)
            // These words are for messages of people, and for knocks.
            let isOwn = ["message", "knock"].contains(message.text)
            self = .service(try checked(isOwn ? nil : ServiceMessage(message.text, message.parameters ?? [:])))
        case .statusFrame: self = .statusFrame(try fields.decode(StatusFrame.self, forKey: field))
        case .chime: self = .chime(try checked(try fields.decode(ChimeWords.self, forKey: field).chime))
        }
    }

    package func encode(to encoder: any Encoder) throws {
        var fields = encoder.container(keyedBy: Field.self)
        switch self {
        case .viewport(let viewport): try fields.encode(viewport?.edges, forKey: .viewport)
        case .legibility(let legibility): try fields.encode(legibility, forKey: .legibility)
        case .source(let name): try fields.encode(name, forKey: .source)
        case .highlight(let highlight): try fields.encode(highlight.numbers, forKey: .highlight)
        case .message(let text): try fields.encode(text.description, forKey: .message)
        case .service(let message):
            try fields.encode(ServiceWords(text: message.text, parameters: message.parameters), forKey: .service)
        case .statusFrame(let frame): try fields.encode(frame, forKey: .statusFrame)
        case .chime(let chime): try fields.encode(ChimeWords(chime), forKey: .chime)
        }
    }

    private struct ServiceWords: Codable {
        let text: String
        let parameters: [String: String]?
    }

    private struct ChimeWords: Codable {
        var play: Int?
        /// 0 for none.
        var select: Int?

        init(_ chime: Chime) {
            switch chime {
            case .play(let number): play = number
            case .select(let number): select = number ?? 0
            }
        }

        /// Nil unless it has one number within the range.
        var chime: Chime? {
            switch (play, select) {
            case (let number?, nil): Chime.numbers ~= number ? .play(number) : nil
            case (nil, 0): .select(nil)
            case (nil, let number?): Chime.numbers ~= number ? .select(number) : nil
            default: nil
            }
        }
    }

    /// For people: the form of a command.
    package static var form: String {
        let names = Kind.allCases.map(\.rawValue).joined(separator: ", ")
        return "a command is a JSON object with one key of \(names) and a value within the ranges of /capabilities"
    }
}
