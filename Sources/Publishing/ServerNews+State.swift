import Calls
import Control
import Helpers
import ICE
import Peers
import Time

extension ServerNews {
    var state: SenderSnapshot.Server.State {
        switch result {
        case .works: .works
        case .noAnswer, .unreachable, .otherProtocol: .silent
        case .wrongLogin: .wrongLogin
        case .refused: .refused
        }
    }
}

extension CallEvent {
    init(_ news: ServerNews) {
        self.init(kind: .server, sentence: news.sentence, state: news.state.rawValue, server: news.server.name)
    }
}

extension EventLog {
    func tell(_ event: CallNetwork.Event) {
        switch event {
        case .server(let news): tell(CallEvent(news))
        case .note(let sentence): Console.note(sentence)
        }
    }
}

extension SenderSnapshot.Server {
    /// A server that does not work.
    init(_ fault: ServerNews, at now: Instant) {
        self.init(
            name: fault.server.name,
            state: fault.state,
            sinceS: milliseconds(now - fault.since) / 1000,
            reason: fault.sentence
        )
    }
}
