import ArgumentParser
import FrameBridge
import Glibc
import Helpers
import Pixels
import Posix
import Rendering
import Time

/// A window, in a process that has the screen and neither network nor files.
///
/// It shows a broadcast, as another reader of the bridge, or pictures from standard input; and ends with standard input.
struct View: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Show pictures in a window.", shouldDisplay: false)

    /// How often a broadcast is looked at while it changes, and while it rests.
    private static let (busyInterval, idleInterval) = (Duration.milliseconds(33), Duration.milliseconds(150))
    /// How long it has rested then.
    private static let restTime = Duration.seconds(1)

    @OptionGroup var broadcast: BroadcastOptions

    @Flag(help: "Pictures come from standard input.")
    var received = false

    func run() throws {
        let signals = try TerminationSignals()
        let input = FileDescriptor(taking: try check("dup") { fcntl(0, F_DUPFD_CLOEXEC, 3) })
        try check("fcntl") { fcntl(input.raw, F_SETFL, O_NONBLOCK) }
        let directory = try received ? nil : broadcast.directory()
        let window = try PictureWindow(
            title: received ? "Oriel: the other member" : "Oriel: what is sent (\(broadcast.name))"
        )
        let sandbox = Sandbox(writable: nil, readable: directory.map { [$0.path] } ?? [], socketFamilies: [])
        if let directory {
            let reader = try FrameReader(directory: directory)
            try enterSandbox(by: sandbox.enter)
            try showBroadcast(reader, in: window, input, until: signals)
        } else {
            try enterSandbox(by: sandbox.enter)
            try showReceived(Y4MInput(input), in: window, until: signals)
        }
        if window.isClosed { Console.note("the window is closed; the call goes on") }
    }

    private func showReceived(
        _ input: consuming Y4MInput,
        in window: PictureWindow,
        until signals: borrowing TerminationSignals
    ) throws {
        var picture = PlanarPicture()
        while !window.isClosed, !signals.take() {
            if try input.read(into: &picture) {
                var shown = NV12Picture(size: picture.size)
                shown.copy(picture)
                window.show(consume shown)
            } else if input.hasEnded {
                return
            } else {
                waitReadable(input.descriptor, window.fileDescriptor, signals.descriptor.raw, until: nil)
            }
            try window.handleEvents()
        }
    }

    private func showBroadcast(
        _ reader: consuming FrameReader,
        in window: PictureWindow,
        _ input: borrowing FileDescriptor,
        until signals: borrowing TerminationSignals
    ) throws {
        var changedAt: Instant = MonotonicClock.now()
        while !window.isClosed, !signals.take() {
            if try showFrame(&reader, in: window) { changedAt = MonotonicClock.now() }
            try window.handleEvents()
            let now: Instant = MonotonicClock.now()
            let interval = now < changedAt + Self.restTime ? Self.busyInterval : Self.idleInterval
            waitReadable(input.raw, window.fileDescriptor, signals.descriptor.raw, until: now + interval)
            if waitReadable(input.raw, until: .start) { return }
        }
    }

    /// Shows the latest frame of the bridge. Returns whether it is a new one.
    private func showFrame(_ reader: inout FrameReader, in window: PictureWindow) throws -> Bool {
        var picture: NV12Picture?
        let outcome: FrameReader.Outcome
        do throws(BridgeError) {
            outcome = try reader.read { frame in
                let size = PixelSize(width: frame.info.width, height: frame.info.height)
                var copy = NV12Picture(size: size)
                let layout = NV12Layout(size: size, lumaStride: frame.lumaStride, chromaStride: frame.chromaStride)
                Rescaler(from: size, to: size)
                    .rescale(luma: frame.luma, chroma: frame.chroma, layout: layout, into: &copy)
                picture = consume copy
            }
        } catch {
            // The capture process has gone, or another one comes: the window keeps what it shows.
            return false
        }
        guard case .frame = outcome, let shown = picture.take() else { return false }
        window.show(consume shown)
        return true
    }
}
