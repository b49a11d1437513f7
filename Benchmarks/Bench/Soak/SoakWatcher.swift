import FrameBridge
import Pixels
import Posix
import Synchronization
import TestSupport
import Time

/// Reads every frame in a bridge, on a thread of its own, and checks the number on it.
final class SoakWatcher: Sendable {
    private struct State {
        var readings = SoakScene.Readings()
        var last: Int?
        var count = 0
        var expectsNumbers = true
        var isOver = false
        /// Numbers are not checked before: the screen may be empty, or an old one.
        var settlesAt: Instant?
    }

    private static let settling = Duration.seconds(1)
    private let state = Mutex(State())

    init(_ path: String) throws {
        let directory = try BridgeDirectory(path: path, create: true)
        _ = try Thread { [self] in
            guard var reader = try? FrameReader(directory: directory) else { return }
            let numbers = NumberReader(width: Stage.size.width)
            var luma: [UInt8] = []
            while !state.withLock({ $0.isOver }) {
                var width = 0
                let outcome = try? reader.read { frame in
                    width = frame.info.width
                    guard width == Stage.size.width, frame.lumaStride == width else { return }
                    luma = frame.luma.withUnsafeBytes { Array($0.prefix(numbers.height * width)) }
                }
                if case .frame = outcome {
                    note(width == Stage.size.width ? numbers.value(in: luma) : nil)
                } else {
                    reader.wait(until: MonotonicClock.now() + .milliseconds(10))
                }
            }
        }
    }

    var readings: SoakScene.Readings { state.withLock { $0.readings } }

    /// The count of different numbers that were seen.
    var count: Int { state.withLock { $0.count } }

    /// Whether every frame shows a number: not while something else is shared, or the screen is away.
    var expectsNumbers: Bool {
        get { state.withLock { $0.expectsNumbers } }
        set {
            state.withLock {
                if newValue, !$0.expectsNumbers { $0.settlesAt = MonotonicClock.now() + Self.settling }
                $0.expectsNumbers = newValue
            }
        }
    }

    /// Accepts a counter that begins again.
    func forgetNumbers() { state.withLock { $0.last = nil } }

    func stop() { state.withLock { $0.isOver = true } }

    private func note(_ number: Int?) {
        state.withLock { state in
            state.readings.frames += 1
            let isSettled = state.expectsNumbers && (state.settlesAt.map { MonotonicClock.now() > $0 } ?? true)
            guard let number else {
                if isSettled { state.readings.torn += 1 }
                return
            }
            if let last = state.last, number < last, isSettled { state.readings.backwards += 1 }
            if number != state.last { state.count += 1 }
            state.last = number
        }
    }
}
