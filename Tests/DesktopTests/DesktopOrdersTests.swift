import Control
import JSON
import Media
import Synchronization
import TestSupport
import Testing
import Time

@testable import Desktop

@Suite struct DesktopOrdersTests {
    /// How orders ended, by their names.
    private final class Ends: Sendable {
        let all = Mutex<[String: [String]]>([:])

        func completion(_ name: String) -> CommandRefusal.Completion {
            { refusal in self.all.withLock { $0[name, default: []].append(refusal?.reason ?? "done") } }
        }

        subscript(name: String) -> [String] { all.withLock { $0[name] ?? [] } }
    }

    private let ends = Ends()
    private var orders = DesktopOrders(
        DesktopTask(broadcast: "/b", display: nil, sources: ["screen"], frame: .off, sounds: [])
    )

    init() { orders.noteTold(orders.bytes!.count) }

    private mutating func tell() -> DesktopOrder? {
        guard let bytes = orders.bytes else { return nil }
        orders.noteTold(bytes.count)
        return try? DesktopOrder(jsonLine: String(decoding: bytes, as: UTF8.self))
    }

    @Test mutating func anAnswerCompletesItsOrder() throws {
        #expect(orders.order(.show(source: "screen"), at: .start, ends.completion("a")) == nil)
        #expect(orders.order(.watched(true), at: .start, ends.completion("b")) == nil)
        let (first, second) = (try #require(tell()), try #require(tell()))
        #expect(first.deed == .show(source: "screen") && second.deed == .watched(true) && tell() == nil)
        orders.take(DesktopAnswer(id: second.id, refusal: nil))?(nil)
        let refusal = CommandRefusal("refused", "no")
        orders.take(DesktopAnswer(id: first.id, refusal: refusal))?(refusal)
        // Neither a second answer nor one to nothing does anything.
        #expect(orders.take(DesktopAnswer(id: first.id, refusal: nil)) == nil)
        #expect(orders.take(DesktopAnswer(id: 99, refusal: nil)) == nil)
        #expect(ends["a"] == ["refused"] && ends["b"] == ["done"] && orders.deadline == nil)
    }

    /// What was refused is not told later, but for a line that has begun.
    @Test mutating func aLateOrderIsDropped() throws {
        for name in ["a", "b", "c"] {
            _ = orders.order(.show(source: name), at: .seconds(name == "c" ? 1 : 0), ends.completion(name))
        }
        #expect(orders.deadline == .start + DesktopOrders.patience)
        orders.noteTold(3)
        #expect(orders.takeLate(at: .milliseconds(1699)).isEmpty)
        for completion in orders.takeLate(at: .milliseconds(1700)) { completion(CommandRefusal("no_answer", "")) }
        #expect(ends["a"] == ["no_answer"] && ends["b"] == ["no_answer"] && ends["c"] == [])
        let rest = try #require(orders.bytes)
        #expect(rest.count > 3 && rest.last == UInt8(ascii: "\n"))
        orders.noteTold(rest.count)
        let told = try #require(tell())
        #expect(told.deed == .show(source: "c") && tell() == nil)
        #expect(told.until == (Instant.seconds(1) + DesktopOrders.patience).nanoseconds)
    }

    @Test mutating func asManyWaitAtOnce() {
        for index in 0..<DesktopOrders.most {
            #expect(orders.order(.watched(true), at: .start, ends.completion("\(index)")) == nil)
        }
        #expect(orders.order(.watched(true), at: .start, ends.completion("x"))?.reason == "busy")
        #expect(ends["x"] == [])
        #expect(orders.takeLate(at: .seconds(2)).count == DesktopOrders.most)
        #expect(orders.bytes == nil)
        #expect(orders.order(.watched(true), at: .seconds(2), ends.completion("x")) == nil)
    }

    @Test mutating func theEndRefusesAll() {
        _ = orders.order(.watched(true), at: .start, ends.completion("a"))
        for completion in orders.end() { completion(DesktopOrders.ended) }
        #expect(orders.end().isEmpty && orders.bytes == nil && ends["a"] == ["ended"])
        #expect(orders.order(.watched(true), at: .start, ends.completion("b"))?.reason == "ended")
    }

    /// Whatever happens, each order ends once.
    @Test(arguments: 0..<20) mutating func eachOrderEndsOnce(seed: UInt64) {
        var random = SplitMix(seed: seed)
        var (now, accepted, told) = (Instant.start, 0, [Int]())
        for step in 0..<2000 {
            switch Int.random(in: 0..<5, using: &random) {
            case 0, 1:
                if orders.order(.show(source: "\(step)"), at: now, ends.completion("\(step)")) == nil { accepted += 1 }
            case 2:
                if let bytes = orders.bytes { orders.noteTold(Int.random(in: 1...bytes.count, using: &random)) }
                told.append(Int.random(in: 1...max(accepted, 1), using: &random))
            case 3:
                if let id = told.popLast() { orders.take(DesktopAnswer(id: id, refusal: nil))?(nil) }
            default:
                now = now + .milliseconds(Int.random(in: 0...200, using: &random))
                for completion in orders.takeLate(at: now) { completion(CommandRefusal("no_answer", "")) }
            }
        }
        for completion in orders.end() { completion(DesktopOrders.ended) }
        let counts = ends.all.withLock { $0.values.map(\.count) }
        #expect(counts.count == accepted && counts.allSatisfy { $0 == 1 })
    }
}
