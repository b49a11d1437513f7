import Control
import JSON
import Media

/// A recorder as viewers know it: without paths.
struct RecorderDocument: Encodable {
    let id: Int
    let state: RecorderSnapshot.State
    let muted: Bool
    let lengthS: Double
    let bytes: UInt64
    /// The name of the file that was completed last.
    let lastFile: String?
    /// What is kept in memory for a replay.
    let replayS: Int?
    /// Absent if everything is recorded.
    let clips: ClipSettings?

    init(_ number: Int, _ recorder: RecorderSnapshot) {
        (id, state, muted) = (number, recorder.state, recorder.muted)
        (lengthS, bytes, lastFile) = (recorder.lengthS, recorder.bytes, recorder.lastFile)
        (replayS, clips) = (recorder.replayS, recorder.clips)
    }

    /// Reads `{"clips": {…}}`, where no field may be missing, or `{"clips": null}`.
    ///
    /// - Throws: the first field that is missing, unknown, of another type or out of its range.
    static func clips(in bytes: [UInt8]) throws(FieldProblem) -> ClipSettings? {
        guard let text = JSONText(bytes) else { throw FieldProblem("", sentence: "the settings are no JSON") }
        var document = try Fields(text, of: "")
        let clips = try document.take("clips")
        try document.finish()
        return clips.text == "null" ? nil : try ClipSettings(clips, of: "clips")
    }
}

/// The members of an object, each of which is taken once.
private struct Fields {
    private let path: String
    private var left: [String: JSONText] = [:]

    init(_ value: JSONText, of path: String) throws(FieldProblem) {
        self.path = path
        guard let members = value.members else {
            throw FieldProblem(path, sentence: "\(path.isEmpty ? "the document" : path) is no object")
        }
        for (name, value) in members {
            guard left.updateValue(value, forKey: name) == nil else {
                throw FieldProblem(self.name(name), sentence: "\(self.name(name)) is there twice")
            }
        }
    }

    func name(_ field: String) -> String { path.isEmpty ? field : "\(path).\(field)" }

    mutating func take(_ field: String) throws(FieldProblem) -> JSONText {
        guard let value = left.removeValue(forKey: field) else {
            throw FieldProblem(name(field), sentence: "\(name(field)) is missing")
        }
        return value
    }

    mutating func number(_ field: String) throws(FieldProblem) -> Int {
        guard let number = try take(field).integer else {
            throw FieldProblem(name(field), sentence: "\(name(field)) is no whole number")
        }
        return number
    }

    func finish() throws(FieldProblem) {
        guard let other = left.keys.min() else { return }
        throw FieldProblem(name(other), sentence: "\(name(other)) is no setting")
    }
}

extension ClipSettings {
    fileprivate init(_ value: JSONText, of path: String) throws(FieldProblem) {
        self.init()
        var fields = try Fields(value, of: path)
        let sensitivity = try fields.take("sensitivity")
        if sensitivity.text != "null" {
            guard let number = sensitivity.integer else {
                let name = fields.name("sensitivity")
                throw FieldProblem(name, sentence: "\(name) is no whole number, and not null")
            }
            self.sensitivity = number
        }
        guard let zones = try fields.take("zones").elements else {
            throw FieldProblem(fields.name("zones"), sentence: "\(fields.name("zones")) is no array")
        }
        for (index, zone) in zones.prefix(Self.mostZones + 1).enumerated() {
            self.zones.append(try Zone(zone, of: "\(fields.name("zones"))[\(index)]"))
        }
        (initialS, augmentS) = (try fields.number("initial_s"), try fields.number("augment_s"))
        (longestS, blindS) = (try fields.number("longest_s"), try fields.number("blind_s"))
        preRollS = try fields.number("pre_roll_s")
        try fields.finish()
        guard let problem else { return }
        throw FieldProblem("\(path).\(problem.field)", sentence: "\(path).\(problem.description)")
    }
}

extension ClipSettings.Zone {
    fileprivate init(_ value: JSONText, of path: String) throws(FieldProblem) {
        var fields = try Fields(value, of: path)
        let (x, y) = (try fields.number("x"), try fields.number("y"))
        self.init(x: x, y: y, width: try fields.number("width"), height: try fields.number("height"))
        try fields.finish()
    }
}
