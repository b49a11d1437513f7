import Control
import JSON
import Time

/// The orders to the process at the desktop, and what waits for its answers. Sans-IO.
///
/// Invariant: each completion is given out once. An order that was refused as late is not told any more, unless a part of it is.
struct DesktopOrders {
    /// Orders that wait at once.
    static let most = 64
    /// How long an answer may take. A command line waits a little longer.
    static let patience = Duration.milliseconds(1700)

    private struct Line {
        /// Of its order; nil for another line.
        let id: Int?
        var bytes: [UInt8]
    }

    private var untold: [Line] = []
    /// Whether the first line was taken in part.
    private var isFirstBegun = false
    private var waiting: [Int: (completion: CommandRefusal.Completion, until: Instant)] = [:]
    private var lastID = 0
    private(set) var hasEnded = false

    init(_ task: DesktopTask) { add(task, of: nil) }

    /// When to call `takeLate`.
    var deadline: Instant? { waiting.values.map(\.until).min() }

    /// The bytes that are to be told; nil for none.
    var bytes: [UInt8]? { untold.first?.bytes }

    /// - Parameter count: of `bytes`, how many were taken.
    mutating func noteTold(_ count: Int) {
        untold[0].bytes.removeFirst(count)
        isFirstBegun = !untold[0].bytes.isEmpty
        if !isFirstBegun { untold.removeFirst() }
    }

    /// - Returns: why it is not ordered; nil if the completion will be given out.
    mutating func order(
        _ deed: DesktopDeed,
        at now: Instant,
        _ completion: @escaping CommandRefusal.Completion
    ) -> CommandRefusal? {
        if hasEnded { return Self.ended }
        guard waiting.count < Self.most else { return CommandRefusal("busy", "the desktop is busy") }
        lastID += 1
        let until = now + Self.patience
        waiting[lastID] = (completion, until)
        add(DesktopOrder(id: lastID, deed: deed, until: until.nanoseconds), of: lastID)
        return nil
    }

    /// - Returns: the completion of the answered order; nil if none waits.
    mutating func take(_ answer: DesktopAnswer) -> CommandRefusal.Completion? {
        waiting.removeValue(forKey: answer.id)?.completion
    }

    /// Gives up orders that wait too long.
    mutating func takeLate(at now: Instant) -> [CommandRefusal.Completion] {
        let late = waiting.filter { $0.value.until <= now }
        for id in late.keys { waiting[id] = nil }
        let begun = isFirstBegun ? Array(untold.prefix(1)) : []
        untold = begun + untold.dropFirst(begun.count).filter { line in line.id.map { late[$0] == nil } ?? true }
        return late.values.map(\.completion)
    }

    /// Takes no more orders. Returns all that wait.
    mutating func end() -> [CommandRefusal.Completion] {
        hasEnded = true
        defer { (waiting, untold, isFirstBegun) = ([:], [], false) }
        return waiting.values.map(\.completion)
    }

    static var ended: CommandRefusal { CommandRefusal("ended", "the process at the desktop has ended") }

    private mutating func add(_ line: some Encodable, of id: Int?) {
        // Texts and integers can always be encoded.
        untold.append(Line(id: id, bytes: Array("\(try! line.jsonLine())\n".utf8)))
    }
}
