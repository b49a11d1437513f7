import FoundationEssentials
import HTTP
import Media
import Synchronization

/// How the broadcast is and how many look in, as pages and programs are told it by HTTP.
package final class WebStatus: Sendable {
    private struct Content: Encodable {
        /// By its name in status files.
        var state = "starting"
        /// Viewers that are connected.
        var viewers = 0
    }

    /// Each change, as JSON.
    let events = EventHub()
    private let content = Mutex(Content())

    package init() { change { _ in } }

    /// Notes how the broadcast is, by its name in status files.
    package func setState(_ name: String) { change { $0.state = name } }

    /// Notes who comes and goes, and how the broadcast is.
    package func note(_ event: WebCall.Event) {
        change { content in
            switch event {
            case .joined: content.viewers += 1
            case .left: content.viewers -= 1
            case .broadcast(let condition): content.state = condition.rawValue
            }
        }
    }

    var isStopped: Bool { content.withLock { $0.state == "stopped" } }

    /// One line.
    var json: String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let content = content.withLock { $0 }
        // A text and a number can always be encoded.
        return String(decoding: try! encoder.encode(content), as: UTF8.self)
    }

    private func change(_ body: (inout Content) -> Void) {
        content.withLock { body(&$0) }
        events.publish { json }
    }
}
