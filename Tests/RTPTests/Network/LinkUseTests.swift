import TestSupport
import Testing
import Time

@testable import RTP

/// How much of a link is used while news waits, by an encoder that refines a page as the estimate allows.
@Suite struct LinkUseTests {
    /// Pages, each followed by parts that refine it, as `LinkBudget` makes them: 100 ms long, and together more than the estimate.
    private struct Pages {
        private static let (page, whole) = (70_000, 120_000)
        private static let part = 0.1
        /// Of the estimate: what goes to pictures, times what refinements take of that.
        private static let share = 0.85 * 1.25

        private(set) var made = Self.whole
        private var busyUntil = Instant.start

        var isWhole: Bool { made >= Self.whole }

        mutating func turn(_ stack: inout StackSimulation) {
            made = 0
            make(Self.page, in: &stack)
        }

        mutating func refine(_ stack: inout StackSimulation) {
            guard !isWhole, stack.now >= busyUntil - .milliseconds(50),
                stack.bundle.backlog(at: stack.now) <= .milliseconds(100)
            else { return }
            make(Int(rate(stack) / 8 * Self.part), in: &stack)
        }

        private mutating func make(_ size: Int, in stack: inout StackSimulation) {
            stack.append(bytes: size, isKeyframe: made == 0)
            made += size
            busyUntil = max(busyUntil, stack.now) + .seconds(Double(size) * 8 / rate(stack))
        }

        private func rate(_ stack: StackSimulation) -> Double { Self.share * (stack.bundle.linkRate ?? 1e6) }
    }

    struct Link: Sendable, CustomTestStringConvertible {
        var rate: Double
        var delay = 25
        var jitter = 0
        var testDescription: String { "\(rate / 1e6) Mb/s, \(delay) ms, jitter \(jitter) ms" }
    }

    /// From 200 ms after a page was drawn until the last part of it has left, and no queue is longer than the window lets it be.
    @Test(arguments: [
        Link(rate: 0.2e6), Link(rate: 0.3e6), Link(rate: 0.3e6, delay: 100), Link(rate: 0.3e6, jitter: 5),
        Link(rate: 0.5e6), Link(rate: 1e6),
    ])
    func aThinLinkIsUsedWhileNewsWaits(link: Link) {
        var stack = StackSimulation(
            .init(
                rate: link.rate,
                queue: .seconds(60),
                mostPackets: 60,
                delay: .milliseconds(link.delay),
                jitter: .milliseconds(link.jitter)
            )
        )
        var pages = Pages()
        var (uses, queues): ([Double], [Duration]) = ([], [])
        for round in 0..<7 {
            let end = stack.now + .seconds(10)
            var waits: [Duration] = []
            pages.turn(&stack)
            stack.run(for: .milliseconds(200))
            while stack.now < end, !pages.isWhole || stack.bundle.streams[0].waitingSize > 0 {
                stack.run(for: .milliseconds(2))
                pages.refine(&stack)
                waits.append(stack.link.waiting(at: stack.now))
            }
            stack.run(for: end - stack.now)
            // The first pages show what the link carries.
            if round < 2 { continue }
            uses.append(Double(waits.count { $0 > .zero }) / Double(waits.count))
            queues += waits
        }
        #expect(uses.sorted()[uses.count / 2] >= 0.92, "\(uses)")
        queues.sort()
        #expect(queues[queues.count * 95 / 100] <= max(.milliseconds(130), .seconds(6000 * 8 / link.rate)))
    }
}
