package import Control
import Synchronization

/// The recorders of a sender, for viewers. Any thread may use this.
package final class RecorderDesk: Sendable {
    /// Gets the answer; nil if the recorder has gone, or does not answer.
    package typealias Completion = @Sendable (FeedAnswer?) -> Void
    /// Asks a recorder. Calls the completion once, on any thread.
    package typealias Ask = @Sendable (RecorderRequest, @escaping Completion) -> Void

    /// As Matter's push transports have (Application Cluster Specification 1.5 §11.7).
    private static let lastNumber = 65_534

    private struct State {
        var next = 0
        var members: [Int: Ask] = [:]
    }

    private let state = Mutex(State())

    package init() {}

    /// - Returns: the number of the recorder; nil if there is none left.
    package func add(_ ask: @escaping Ask) -> Int? {
        state.withLock { state in
            guard state.members.count <= Self.lastNumber else { return nil }
            while state.members[state.next] != nil { state.next = (state.next + 1) % (Self.lastNumber + 1) }
            state.members[state.next] = ask
            defer { state.next = (state.next + 1) % (Self.lastNumber + 1) }
            return state.next
        }
    }

    package func remove(_ number: Int) { _ = state.withLock { $0.members.removeValue(forKey: number) } }

    /// In order.
    var numbers: [Int] { state.withLock { $0.members.keys.sorted() } }

    func ask(_ number: Int, for request: RecorderRequest, _ completion: @escaping Completion) {
        guard let ask = state.withLock({ $0.members[number] }) else { return completion(nil) }
        ask(request, completion)
    }
}
