import JSON

/// A recorder's answer to a question of its sender.
package struct FeedAnswer: Codable, Sendable, Equatable {
    /// That of the question.
    package let number: UInt64
    /// Nil after a request that was done; its status otherwise.
    package var refusal: RecorderRefusal?
    /// The recorder after that, without its folder.
    package var recorder: RecorderSnapshot

    package init(to number: UInt64, _ refusal: RecorderRefusal? = nil, by recorder: RecorderSnapshot) {
        (self.number, self.refusal, self.recorder) = (number, refusal, recorder)
        self.recorder.folder = ""
    }

    fileprivate static let mark = UInt8(ascii: "A")
    fileprivate static let longest = 16_384

    /// A byte, the length in two (little-endian), and JSON.
    package var bytes: [UInt8] {
        // A length that is not finite is none of a recorder's.
        let line = Array(((try? jsonLine()) ?? "").utf8)
        return [Self.mark, UInt8(truncatingIfNeeded: line.count), UInt8(truncatingIfNeeded: line.count >> 8)] + line
    }
}

/// Takes the bytes of a recorder apart. Sans-IO.
package struct FeedRequestDecoder {
    package struct Malformed: Error {}

    package enum Item: Equatable {
        case request(FeedRequest)
        case answer(FeedAnswer)
    }

    private var bytes: [UInt8] = []

    package init() {}

    package mutating func take(_ more: some Sequence<UInt8>) { bytes += more }

    /// The next item; nil if it has not come whole. Bytes of an unknown request are left out.
    ///
    /// - Throws: if the bytes are none of a recorder.
    package mutating func next() throws(Malformed) -> Item? {
        while let first = bytes.first {
            guard first == FeedAnswer.mark else {
                bytes.removeFirst()
                guard let request = FeedRequest(rawValue: first) else { continue }
                return .request(request)
            }
            guard bytes.count >= 3 else { return nil }
            let end = 3 + Int(bytes[1]) + Int(bytes[2]) << 8
            guard end - 3 <= FeedAnswer.longest else { throw Malformed() }
            guard bytes.count >= end else { return nil }
            let line = String(decoding: bytes[3..<end], as: UTF8.self)
            bytes.removeFirst(end)
            guard let answer = try? FeedAnswer(jsonLine: line) else { throw Malformed() }
            return .answer(answer)
        }
        return nil
    }
}
