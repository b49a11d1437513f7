import Control
import FrameBridge
import Glibc
import Helpers
import JSON
import Media
import Pixels
import Posix
import Rendering
import Time

/// The process at the desktop of the person who shares: it shows rings, frames and notifications, and asks the capture process for other sources.
///
/// It has no network. A sender that was taken over can show what it likes on the screen for a time, and no source that was not allowed.
package final class DesktopProcess {
    private static let longestLine = 16_384
    /// Of the first one, which has the paths of all sounds.
    private static let longestTask = 4 << 20
    /// How often the frame follows the source.
    private static let lookInterval = Duration.milliseconds(250)
    /// The capture process has as long to show another source, and the sound process to play.
    private static let longestDeed = Duration.milliseconds(1200)
    private static let mostNotifications = 4

    private let task: DesktopTask
    private let directory: BridgeDirectory
    private let notifySend: NotifySend
    private var notifications: [ChildProcess] = []
    private var screen: ScreenMarks?
    private var frame: StatusFrame
    private var isWatched = false
    private var ringEnd: Instant?
    private var lookAt: Instant?

    /// Runs the process. Orders come from standard input, and it ends with that; answers go to standard output.
    package static func run() throws {
        let signals = try TerminationSignals()
        let input = FileDescriptor(taking: try check("dup") { fcntl(0, F_DUPFD_CLOEXEC, 3) })
        try check("fcntl") { fcntl(input.raw, F_SETFL, O_NONBLOCK) }
        // Whatever comes with the first line belongs to the next ones.
        var first = LineReader(longest: longestTask)
        var waiting: [String] = []
        while waiting.isEmpty {
            waitReadable(input.raw, signals.descriptor.raw, until: nil)
            waiting = try first.read(from: input.raw, limit: 65_536)
            if signals.take() || first.hasEnded || first.isTooLong { return }
        }
        var lines = LineReader(longest: longestLine)
        waiting += lines.take(first.takeRest())
        let process = try DesktopProcess(try DesktopTask(jsonLine: waiting.removeFirst()))
        // The file that lets it in may be another one later. Where there is no screen, a command is told so.
        process.screen = try? ScreenMarks(display: process.task.display)
        try enterSandbox { _ throws(SystemError) in try process.sandbox.enter { _ in } }
        while !signals.take(), !lines.hasEnded, !lines.isTooLong {
            // Malformed lines are left out.
            for order in waiting.compactMap({ try? DesktopOrder(jsonLine: $0) }) {
                if MonotonicClock.now().nanoseconds >= order.until { continue }
                let answer = DesktopAnswer(id: order.id, refusal: process.refusal(to: order))
                guard (try? write("\(try answer.jsonLine())\n", to: 1)) != nil else { return }
            }
            let deadline = process.turn(at: MonotonicClock.now())
            waitReadable(input.raw, signals.descriptor.raw, process.screen?.fileDescriptor ?? -1, until: deadline)
            guard let more = try? lines.read(from: input.raw, limit: 65_536) else { break }
            waiting = more
        }
    }

    private init(_ task: DesktopTask) throws {
        self.task = task
        frame = task.frame
        directory = try BridgeDirectory(path: task.broadcast, create: false)
        notifySend = try NotifySend()
        lookAt = frame == .off ? nil : .start
    }

    /// The X server, the session bus, and the folder of the broadcast.
    private var sandbox: Sandbox {
        let home = getenv("HOME").map { String(cString: $0) }
        let authority = getenv("XAUTHORITY").map { String(cString: $0) } ?? home.map { "\($0)/.Xauthority" }
        let files = [authority].compactMap(\.self).filter { access($0, F_OK) == 0 }
        let display = task.display ?? getenv("DISPLAY").map { String(cString: $0) } ?? ""
        var sandbox = Sandbox(
            writable: directory.path,
            readable: notifySend.files + files,
            socketFamilies: Sandbox.socketFamilies(reaching: display)
        )
        sandbox.startsPrograms = true
        return sandbox
    }

    // MARK: - Deeds

    private func refusal(to order: DesktopOrder) -> CommandRefusal? {
        // What takes longer is refused meanwhile.
        let until = min(MonotonicClock.now() + Self.longestDeed, Instant(nanoseconds: order.until))
        switch order.deed {
        case .show(let source): return show(source, until: until)
        case .highlight(let numbers): return highlight(numbers)
        case .notify(let title, let text):
            notify(title, text)
            return nil
        case .chime(let number): return play(number, until: until)
        case .frame(let frame):
            self.frame = frame
            return drawFrame()
        case .watched(let isWatched):
            self.isWatched = isWatched
            return drawFrame()
        }
    }

    private func show(_ source: String, until deadline: Instant) -> CommandRefusal? {
        guard task.sources.contains(source) else { return CommandRefusal("unknown", "there is no such source") }
        do throws(BridgeError) {
            switch try directory.ask(.show(source), until: deadline) {
            case .granted: return nil
            case .refused(let reason): return CommandRefusal("refused", reason)
            case nil: return CommandRefusal("no_answer", "the capture process does not answer: see \"oriel status\"")
            }
        } catch {
            return CommandRefusal("refused", "there is no broadcast")
        }
    }

    /// By the sound process, which has the speakers.
    private func play(_ number: Int, until deadline: Instant) -> CommandRefusal? {
        guard task.sounds.indices.contains(number - 1) else {
            return CommandRefusal("unknown", "there is no such sound")
        }
        do throws(ControlError) {
            let path = task.sounds[number - 1]
            try SoundClient(of: directory).ask(for: .play(path: path), until: deadline)
            return nil
        } catch {
            if case .refused(let reason) = error { return CommandRefusal("no_sound", reason) }
            return CommandRefusal(
                "no_sound",
                "there is no sound process that can play it: start one with \"oriel hear\""
            )
        }
    }

    private func notify(_ title: String, _ text: String) {
        notifications.removeAll { $0.takeExit() != nil }
        guard NotifySend.isPossible, notifications.count < Self.mostNotifications else { return }
        if let shown = try? notifySend.show(title, text, options: ["--expire-time=10000"]) {
            notifications.append(shown)
        }
    }

    // MARK: - The screen

    private func highlight(_ numbers: [Int]) -> CommandRefusal? {
        guard let ring = Highlight(numbers), let source = shownPart() else {
            let isPaused = (try? BridgeInspection(directory).liveness) == .live(.paused)
            return CommandRefusal("outside", isPaused ? "the broadcast is paused" : "nothing is shown there now")
        }
        return onScreen { screen throws(PictureWindowError) in
            let place = PixelRect(x: source.x + ring.x, y: source.y + ring.y, width: ring.width, height: ring.height)
            try screen.showRing(around: place)
            ringEnd = MonotonicClock.now() + .milliseconds(ring.milliseconds)
        }
    }

    /// Draws the frame around what is shared, or removes it.
    private func drawFrame() -> CommandRefusal? {
        let shown: StatusFrame = frame == .auto ? (isWatched ? .medium : .off) : frame
        guard shown != .off else {
            lookAt = nil
            screen?.hideFrame()
            return nil
        }
        lookAt = MonotonicClock.now() + Self.lookInterval
        return onScreen { screen throws(PictureWindowError) in
            if let part = shownPart() { try screen.showFrame(shown, around: part) } else { screen.hideFrame() }
        }
    }

    /// The part of the screen that is captured now; nil while there is none, as in a pause.
    private func shownPart() -> PixelRect? {
        guard let look = try? BridgeInspection(directory), case .live(.active) = look.liveness,
            let source = look.latest?.source
        else { return nil }
        return PixelRect(x: source.x, y: source.y, width: source.width, height: source.height)
    }

    private func onScreen(
        _ draw: (ScreenMarks) throws(PictureWindowError) -> Void
    ) -> CommandRefusal? {
        do throws(PictureWindowError) {
            if screen == nil { screen = try ScreenMarks(display: task.display) }
            try draw(screen!)
            return nil
        } catch {
            screen = nil
            return CommandRefusal("no_screen", "there is no screen to draw on")
        }
    }

    /// Does what is due. Returns when to come again.
    private func turn(at now: Instant) -> Instant? {
        notifications.removeAll { $0.takeExit() != nil }
        if let end = ringEnd, now >= end {
            ringEnd = nil
            screen?.hideRing()
        }
        if let look = lookAt, now >= look { _ = drawFrame() }
        var raising: Instant?
        do throws(PictureWindowError) { raising = try screen?.handleEvents() } catch { screen = nil }
        let reaping = notifications.isEmpty ? nil : now + .seconds(1)
        return [ringEnd, lookAt, raising, reaping].compactMap(\.self).min()
    }
}
