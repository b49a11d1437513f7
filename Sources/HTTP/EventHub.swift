import NIOCore
import Synchronization

/// Sends events to listening clients: the newest one at once, and then each new one (HTML, server-sent events).
package final class EventHub: Sendable {
    private struct State {
        var event = ""
        var listeners: [ObjectIdentifier: any Channel] = [:]
    }

    private let state = Mutex(State())

    package init() {}

    /// Sends the newest event to all listeners, unless it equals the event before.
    ///
    /// - Parameter newest: makes the event, a single line. It is called under the lock, so that the thread that
    ///   publishes last has read the newest state.
    package func publish(_ newest: () -> String) {
        state.withLock { state in
            let event = newest()
            guard state.event != event else { return }
            state.event = event
            for listener in state.listeners.values {
                // Deliver later: a direct call could re-enter `publish` while the lock is held.
                listener.eventLoop.execute {
                    listener.triggerUserOutboundEvent(EventLine(text: "data: \(event)\n\n"), promise: nil)
                }
            }
        }
    }

    var latest: String { state.withLock { $0.event } }

    /// Adds a listener until its connection closes. Returns the first text for it.
    func add(_ channel: any Channel) -> String {
        channel.closeFuture.whenComplete { [self] _ in
            _ = state.withLock { $0.listeners.removeValue(forKey: ObjectIdentifier(channel)) }
        }
        return state.withLock { state in
            state.listeners[ObjectIdentifier(channel)] = channel
            return "data: \(state.event)\n\n"
        }
    }
}

/// A text for a client that listens to events.
struct EventLine: Sendable {
    let text: String
}
