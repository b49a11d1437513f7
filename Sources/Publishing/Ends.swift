/// Ends what was begun: calls what it was given, the last first, at the end of its scope, also where an error leaves that.
package struct Ends: ~Copyable {
    private var closes: [() -> Void] = []

    package init() {}

    package mutating func add(_ close: @escaping () -> Void) { closes.append(close) }

    deinit { for close in closes.reversed() { close() } }
}
