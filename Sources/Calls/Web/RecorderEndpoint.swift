import Access
import Control
import HTTP
import JSON
import Media
import NIOHTTP1
import Synchronization

/// The recorders of this sender, for viewers with the right to record: their settings, changed whole, clips and replays.
struct RecorderEndpoint: Sendable {
    private static let path = "/api/recorders"
    /// The longest settings.
    private static let mostBytes = 8192

    enum Deed: Equatable {
        case list
        case settings(Int)
        case trigger(Int)
        case replay(Int)

        var methods: [HTTPMethod] {
            switch self {
            case .list: [.GET, .HEAD]
            case .settings: [.GET, .HEAD, .PUT]
            case .trigger, .replay: [.POST]
            }
        }
    }

    private let desk: RecorderDesk

    init(_ desk: RecorderDesk) { self.desk = desk }

    /// Nil for a path of others.
    static func deed(of path: String) -> Deed? {
        if path == self.path { return .list }
        guard path.hasPrefix(self.path + "/") else { return nil }
        let words = path.dropFirst(self.path.count + 1).split(separator: "/", omittingEmptySubsequences: false)
        guard words.count <= 2, let number = Int(words[0]), "\(number)" == words[0], number >= 0 else { return nil }
        switch words.dropFirst().first {
        case nil: return .settings(number)
        case "trigger": return .trigger(number)
        case "replay": return .replay(number)
        default: return nil
        }
    }

    func respond(to request: HTTPRequest, _ deed: Deed, _ completion: @escaping WebService.Completion) {
        switch deed {
        case .list: list(completion)
        case .settings(let number) where request.method == .PUT: change(number, request, completion)
        case .settings(let number): ask(number, for: .status, completion)
        case .trigger(let number): ask(number, for: .trigger, completion)
        case .replay(let number): replay(number, request, completion)
        }
    }

    private func ask(_ number: Int, for request: RecorderRequest, _ completion: @escaping WebService.Completion) {
        desk.ask(number, for: request) { answer in
            completion(answer.map { Self.response($0, by: number) } ?? silence(of: number))
        }
    }

    private func list(_ completion: @escaping WebService.Completion) {
        let numbers = desk.numbers
        if numbers.isEmpty { return completion(Self.json("[]")) }
        let answers = Mutex<[Int: RecorderDocument?]>([:])
        for number in numbers {
            desk.ask(number, for: .status) { answer in
                let all: [Int: RecorderDocument?]? = answers.withLock { answers in
                    let recorder = answer.flatMap { $0.refusal == nil ? $0.recorder : nil }
                    answers[number] = .some(recorder.map { RecorderDocument(number, $0) })
                    return answers.count == numbers.count ? answers : nil
                }
                guard let all else { return }
                completion(Self.json(Self.line(numbers.compactMap { all[$0] ?? nil })))
            }
        }
    }

    /// Precondition first: without the version that was read, two people undo each other's change (RFC 6585 §3).
    private func change(_ number: Int, _ request: HTTPRequest, _ completion: @escaping WebService.Completion) {
        guard let condition = request.headers.first(name: "if-match") else {
            let sentence = "give the ETag of the settings that you have read, in If-Match"
            return completion(.sentence(.preconditionRequired, sentence, Self.hint("no_version")))
        }
        guard let (recorder, version) = Self.version(of: condition) else {
            return completion(.sentence(.preconditionFailed, RecorderRefusal.changed.fact, Self.hint("changed")))
        }
        guard request.body.count <= Self.mostBytes else {
            return completion(.sentence(.payloadTooLarge, "settings have 8192 bytes at most"))
        }
        do throws(FieldProblem) {
            let clips = try RecorderDocument.clips(in: request.body)
            // A number may be another recorder's, after the sender has started again.
            desk.ask(number, for: .status) { answer in
                guard let answer, answer.refusal == nil, answer.recorder.pid != recorder else {
                    return ask(number, for: .change(clips: clips, version: version), completion)
                }
                completion(.sentence(.preconditionFailed, RecorderRefusal.changed.fact, Self.hint("changed")))
            }
        } catch {
            completion(.sentence(.unprocessableEntity, "\(error)", Self.hint("field")))
        }
    }

    private func replay(_ number: Int, _ request: HTTPRequest, _ completion: @escaping WebService.Completion) {
        let seconds =
            request.body.isEmpty
            ? nil
            : JSONText(request.body)?.members.flatMap { members in
                members.count == 1 && members[0].name == "seconds" ? members[0].value.integer : nil
            }
        guard request.body.isEmpty || seconds.map({ 1...3600 ~= $0 }) ?? false else {
            let sentence = "a replay takes {\"seconds\": 1 to 3600}, or nothing"
            return completion(.sentence(.unprocessableEntity, sentence, Self.hint("field")))
        }
        ask(number, for: .replay(seconds: seconds), completion)
    }

    // MARK: - Responses

    /// The recorder's process and version of `"4711-3"`, as this server gives them.
    private static func version(of tag: String) -> (recorder: Int32, version: Int)? {
        guard tag.count > 2, tag.first == "\"", tag.last == "\"" else { return nil }
        let parts = tag.dropFirst().dropLast().split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, let recorder = Int32(parts[0]), let version = Int(parts[1]) else { return nil }
        return (recorder, version)
    }

    private func silence(of number: Int) -> HTTPResponse {
        guard desk.numbers.contains(number) else {
            return .sentence(.notFound, "there is no recorder \(number)", Self.hint("gone"))
        }
        let headers: HTTPHeaders = ["Retry-After": "1", "Oriel-Reason": "silent"]
        return .sentence(.serviceUnavailable, "recorder \(number) does not answer now", headers)
    }

    private static func response(_ answer: FeedAnswer, by number: Int) -> HTTPResponse {
        var response =
            if let refusal = answer.refusal {
                HTTPResponse.sentence(refusal.status, refusal.fact, hint(refusal.rawValue))
            } else {
                json(line(RecorderDocument(number, answer.recorder)))
            }
        response.headers.add(name: "ETag", value: "\"\(answer.recorder.pid)-\(answer.recorder.version)\"")
        return response
    }

    private static func hint(_ reason: String) -> HTTPHeaders { ["Oriel-Reason": reason] }

    // Texts and finite numbers can always be encoded.
    private static func line(_ document: some Encodable) -> String { try! document.jsonLine() }

    private static func json(_ text: String) -> HTTPResponse {
        HTTPResponse(.ok, ["Content-Type": "application/json"], body: Array("\(text)\n".utf8))
    }
}

extension RecorderRefusal {
    fileprivate var status: HTTPResponseStatus {
        switch self {
        case .changed: .preconditionFailed
        case .field: .unprocessableEntity
        case .tooOften: .tooManyRequests
        case .forbidden: .forbidden
        case .unwritable: .insufficientStorage
        case .recordsAll, .keepsNothing, .paused, .off, .empty, .busy: .conflict
        }
    }
}
