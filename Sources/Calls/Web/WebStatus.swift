import FoundationEssentials
import HTTP
package import Media
import Synchronization

/// How the broadcast is and how many look in, as pages and programs are told it by HTTP.
package final class WebStatus: Sendable {
    private struct Content: Encodable {
        /// The state's name in status files.
        var state = "starting"
        /// Viewers that are connected.
        var viewers = 0
    }

    /// Each change, as JSON.
    let events = EventHub()
    private let content = Mutex(Content())

    package init() { change { _ in } }

    /// Notes how the broadcast is.
    package func note(_ condition: BroadcastCondition) { change { $0.state = condition.rawValue } }

    /// Notes who comes and goes.
    package func note(_ event: WebCall.Event) {
        change { content in
            switch event {
            case .joined: content.viewers += 1
            case .left: content.viewers -= 1
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
