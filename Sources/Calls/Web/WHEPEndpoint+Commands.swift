import Access
import Control
import HTTP
import JSON
import NIOHTTP1
import Posix
import Time

/// Commands of viewers about what all see.
extension WHEPEndpoint {
    private static let mostBytes = 4096

    func command(_ request: HTTPRequest, _ session: String, _ completion: @escaping WebService.Completion) {
        let body = request.body.count <= Self.mostBytes ? String(decoding: request.body, as: UTF8.self) : ""
        guard let command = try? ViewerCommand(jsonLine: body) else {
            return completion(.sentence(.unprocessableEntity, ViewerCommand.form, ["Oriel-Reason": "field"]))
        }
        guard let viewer = call.viewer(of: session) else { return completion(Self.unknown) }
        switch call.access.change({ $0.command(by: viewer, at: $1) }) {
        case .granted: break
        case .noRight:
            return completion(.sentence(.forbidden, "this link does not let you control", ["Oriel-Reason": "right"]))
        case .tooOften(let until):
            let seconds = Int(max(until - MonotonicClock.now(), .zero).components.seconds) + 1
            return completion(.sentence(.tooManyRequests, "you command too often", ["Retry-After": "\(seconds)"]))
        }
        commands.perform(command, of: viewer) { refusal in
            guard let refusal else { return completion(HTTPResponse(.noContent)) }
            completion(.sentence(.conflict, refusal.sentence, ["Oriel-Reason": refusal.reason]))
        }
    }
}
