/// What a command asks of a running sender: one JSON object on one line, such as `{"request":"kick","viewer":3}`.
package enum SenderRequest: Sendable, Equatable {
    case status
    /// Sends a viewer away, by its number.
    case kick(viewer: Int)
    /// From now on, renditions have this target of rate control, in bits a second.
    case setBitrate(Int)
}

extension SenderRequest: Codable {
    private enum CodingKeys: CodingKey { case request, viewer, bitrateBps }

    private enum Name: String, Codable { case status, kick, bitrate }

    package init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: CodingKeys.self)
        self =
            switch try fields.decode(Name.self, forKey: .request) {
            case .status: .status
            case .kick: .kick(viewer: try fields.decode(Int.self, forKey: .viewer))
            case .bitrate: .setBitrate(try fields.decode(Int.self, forKey: .bitrateBps))
            }
    }

    package func encode(to encoder: any Encoder) throws {
        var fields = encoder.container(keyedBy: CodingKeys.self)
        switch self {
        case .status: try fields.encode(Name.status, forKey: .request)
        case .kick(let viewer):
            try fields.encode(Name.kick, forKey: .request)
            try fields.encode(viewer, forKey: .viewer)
        case .setBitrate(let bitrate):
            try fields.encode(Name.bitrate, forKey: .request)
            try fields.encode(bitrate, forKey: .bitrateBps)
        }
    }
}

/// What a sender answers: one JSON object on one line, with one key.
package enum SenderAnswer: Sendable {
    case done
    /// Why not, as a sentence without a full stop.
    case refused(String)
    case status(SenderStatus)
}

extension SenderAnswer: Codable {
    private enum CodingKeys: CodingKey { case done, refused, status }

    package init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: CodingKeys.self)
        if let report = try fields.decodeIfPresent(SenderStatus.self, forKey: .status) {
            self = .status(report)
        } else if let reason = try fields.decodeIfPresent(String.self, forKey: .refused) {
            self = .refused(reason)
        } else {
            _ = try fields.decode(Bool.self, forKey: .done)
            self = .done
        }
    }

    package func encode(to encoder: any Encoder) throws {
        var fields = encoder.container(keyedBy: CodingKeys.self)
        switch self {
        case .done: try fields.encode(true, forKey: .done)
        case .refused(let reason): try fields.encode(reason, forKey: .refused)
        case .status(let report): try fields.encode(report, forKey: .status)
        }
    }
}
