package import Media

/// A command for a running sender: one JSON object on one line, such as `{"kick":{"viewer":3}}`.
package enum SenderRequest: ControlRequest, Equatable {
    /// A call may need secrets of up to 16 KiB each.
    package static let limit = 65_536

    case status
    case kick(viewer: ParticipantID)
    case talk(viewer: ParticipantID, isOn: Bool)
    case accept(knock: Int)
    case reject(knock: Int)
    /// Removes the guests of a name; nil for all. They have to knock the next time.
    case forget(name: String?)
    case setBitrate(bitrateBps: Int)
    case add(call: Addition)
    case leave(call: String)

    /// A new call, with its settings. Secrets go this way, as everybody on the machine can read a command line. Each
    /// setting stands beside the name, such as `{"name":"rtp://h:5004","local_port":5006}`.
    package struct Addition: Codable, Sendable, Equatable {
        /// In the words of the command line.
        package var name: String
        /// The settings of its kind, by names such as `whipToken`.
        package var settings: [String: Setting]

        package init(name: String, settings: [String: Setting] = [:]) {
            (self.name, self.settings) = (name, settings)
        }

        package init(from decoder: any Decoder) throws {
            var members = try [String: Setting](from: decoder)
            guard case .text(let name)? = members.removeValue(forKey: "name") else {
                throw DecodingError.dataCorrupted(.init(codingPath: decoder.codingPath, debugDescription: "no name"))
            }
            self.init(name: name, settings: members)
        }

        package func encode(to encoder: any Encoder) throws {
            // With a container of its own, the keys are in snake_case.
            try settings.merging(["name": .text(name)]) { setting, _ in setting }.encode(to: encoder)
        }
    }

    package enum Setting: Codable, Sendable, Equatable {
        case text(String)
        case number(UInt16)

        package var text: String {
            switch self {
            case .text(let text): text
            case .number(let number): "\(number)"
            }
        }

        package init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            self = try (try? container.decode(String.self)).map { .text($0) } ?? .number(container.decode(UInt16.self))
        }

        package func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            switch self {
            case .text(let text): try container.encode(text)
            case .number(let number): try container.encode(number)
            }
        }
    }
}
