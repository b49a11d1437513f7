package import Control
import HTTP
import JSON
package import Media
import Synchronization

/// The broadcast's state and the count of viewers, as pages and programs get them by HTTP.
package final class WebStatus: Sendable {
    private struct Person: Encodable {
        let id: Int
        let name: String

        func encode(to encoder: any Encoder) throws {
            var value = encoder.singleValueContainer()
            try value.encode(name)
        }
    }

    private struct Content: Encodable {
        /// The state's name in status files.
        var state = "starting"
        /// Viewers that are connected.
        var viewers = 0
        /// Names of the viewers that are connected, in the order in which they came; nil where viewers do not see them.
        var people: [Person]?
        /// True while a recorder keeps what is shown; nil otherwise.
        var recording: Bool?
        /// Counts changes of the recorders; nil where viewers may not command them.
        var record: Int?
        /// The part of the source that all see; nil for the whole.
        var viewport: [Int]?
        /// Nil if no picture is brightened.
        var legibility: Legibility?
        /// Counts changes of the right to speak; nil where no viewer is heard.
        var talk: Int?
    }

    /// Each change, as JSON.
    let events = EventHub()
    private let content = Mutex(Content())
    private let servedLinks = Mutex<[String]>([])
    private let lastWork = Mutex(SenderSnapshot.Work())

    /// - Parameter showsPeople: whether viewers see the names of all.
    package init(hearsViewers: Bool = false, viewersRecord: Bool = false, showsPeople: Bool = false) {
        change { $0.people = showsPeople ? [] : nil }
        change { $0.talk = hearsViewers ? 0 : nil }
        change { $0.record = viewersRecord ? 0 : nil }
    }

    package func note(_ condition: BroadcastCondition) { change { $0.state = condition.rawValue } }

    package func note(isRecorded: Bool) { change { $0.recording = isRecorded ? true : nil } }

    package func note(viewport: [Int]?) { change { $0.viewport = viewport } }

    package func note(_ legibility: Legibility) { change { $0.legibility = legibility == .off ? nil : legibility } }

    package func noteRecorders() { change { $0.record = $0.record.map { $0 + 1 } } }

    package func noteTalk() { change { $0.talk = $0.talk.map { $0 + 1 } } }

    /// - Parameter links: where pages are served, without the token.
    package func note(links: [String]) { servedLinks.withLock { $0 = links } }

    package var links: [String] { servedLinks.withLock(\.self) }

    package func note(_ work: SenderSnapshot.Work) { lastWork.withLock { $0 = work } }

    var work: SenderSnapshot.Work { lastWork.withLock { $0 } }

    /// Counts a viewer that comes or goes.
    package func note(_ report: CallReport) {
        switch report.event {
        case .joined(let participant, _): count(1, participant, isHere: true)
        case .left(let participant, _): count(-1, participant, isHere: false)
        case .standing, .away, .refused, .ended, .clipBegan, .clipEnded, .remark: break
        }
    }

    private func count(_ change: Int, _ participant: CallReport.Participant, isHere: Bool) {
        let number = participant.id?.number ?? 0
        self.change { content in
            content.viewers += change
            content.people?.removeAll { $0.id == number }
            let name = participant.name.isEmpty ? "viewer \(number)" : participant.name
            if isHere { content.people?.append(Person(id: number, name: name)) }
        }
    }

    var isStopped: Bool { content.withLock { $0.state == "stopped" } }

    /// The content, in one line.
    var json: String {
        // A text and integers can always be encoded.
        try! content.withLock { $0 }.jsonLine()
    }

    private func change(_ body: (inout Content) -> Void) {
        content.withLock { body(&$0) }
        events.publish { json }
    }
}
