package import Media

// The JSON of `oriel status --json`. Its names and units are those of the snapshots. An unknown value has no key.

extension Snapshot: Encodable {
    private enum Field: CodingKey {
        case version, directory, senders, viewers, knocks, sound, soundProblem, recorders, recorderProblem
    }

    package func encode(to encoder: any Encoder) throws {
        try capture.encode(to: encoder)
        var fields = encoder.container(keyedBy: Field.self)
        try fields.encode(Self.version, forKey: .version)
        try fields.encode(directory, forKey: .directory)
        try fields.encode(senders, forKey: .senders)
        try fields.encode(viewers, forKey: .viewers)
        try fields.encode(knocks, forKey: .knocks)
        try fields.encodeIfPresent(sound, forKey: .sound)
        try fields.encodeIfPresent(soundProblem, forKey: .soundProblem)
        if !recorders.isEmpty { try fields.encode(recorders, forKey: .recorders) }
        try fields.encodeIfPresent(recorderProblem, forKey: .recorderProblem)
    }
}

extension Snapshot.Sender: Encodable {
    private enum Field: CodingKey {
        case pid, problem, calls, bitrateBps, quantizer, limit, sound, servers, viewport, legibility, capabilities
        case messagesIgnored
    }

    package func encode(to encoder: any Encoder) throws {
        var fields = encoder.container(keyedBy: Field.self)
        try fields.encode(pid, forKey: .pid)
        try fields.encodeIfPresent(problem, forKey: .problem)
        guard let report else { return }
        try fields.encode(calls, forKey: .calls)
        try fields.encode(report.bitrateBps, forKey: .bitrateBps)
        try fields.encodeIfPresent(report.quantizer, forKey: .quantizer)
        try fields.encodeIfPresent(report.limit, forKey: .limit)
        try fields.encodeIfPresent(report.sound, forKey: .sound)
        try fields.encodeIfPresent(report.servers, forKey: .servers)
        try fields.encodeIfPresent(report.viewport, forKey: .viewport)
        try fields.encodeIfPresent(report.legibility, forKey: .legibility)
        try fields.encodeIfPresent(report.capabilities, forKey: .capabilities)
        try fields.encodeIfPresent(report.messagesIgnored, forKey: .messagesIgnored)
    }
}

extension Snapshot.Sender {
    /// A call, with its viewers' numbers.
    package struct Call: Encodable, Sendable {
        private enum Field: CodingKey { case viewers }

        package let call: SenderSnapshot.Call
        package let viewers: [ParticipantID]

        package func encode(to encoder: any Encoder) throws {
            try call.encode(to: encoder)
            var fields = encoder.container(keyedBy: Field.self)
            try fields.encode(viewers, forKey: .viewers)
        }
    }

    package var calls: [Call] {
        (report?.calls ?? []).map { call in
            Call(call: call, viewers: (report?.viewers ?? []).filter { $0.participant.call == call.name }.map(\.id))
        }
    }
}

extension Snapshot.Entry: Encodable {
    private enum Field: CodingKey { case sender }

    package func encode(to encoder: any Encoder) throws {
        try somebody.encode(to: encoder)
        var fields = encoder.container(keyedBy: Field.self)
        try fields.encode(sender, forKey: .sender)
    }
}
