import Glibc
import Posix
import Time

/// A PulseAudio, or a PipeWire that speaks its protocol, of a test's own, with devices that are made of nothing: null sinks as speakers,
/// and sources that hear what is played into a null sink as microphones.
package final class PulseServer {
    /// A pair of speakers: what is played there can be recorded, and is thrown away.
    package struct Device: Sendable {
        package let name: String
        package let rate: Int
        package let channels: Int

        package init(_ name: String, rate: Int = 48_000, channels: Int = 2) {
            (self.name, self.rate, self.channels) = (name, rate, channels)
        }
    }

    package enum Program: Sendable, CaseIterable {
        case pulseAudio
        /// With its session manager and a session bus, without which it has no default devices.
        case pipeWire
    }

    /// Such as `unix:/tmp/…`, for PULSE_SERVER.
    package let address: String
    package private(set) var process: Subprocess
    private let directory: TemporaryDirectory
    private let command: [String]

    /// Starts a server, and waits until it takes connections.
    ///
    /// - Parameters:
    ///   - program: `restart` is for PulseAudio alone.
    ///   - speakers: the sinks; the first one is the default.
    ///   - microphones: the sources besides the monitors of all sinks; the first one is the default source, unless there is none: then
    ///     the first monitor is. `speak(_:into:)` is what they hear.
    ///   - modules: what else to load, with arguments, such as `module-suspend-on-idle timeout=1`.
    ///   - owner: who runs it; nil for who runs the test.
    package init(
        _ program: Program = .pulseAudio,
        speakers: [Device] = [Device("speakers")],
        microphones: [Device] = [],
        modules: [String] = [],
        of owner: OrdinaryUser? = nil
    ) throws {
        directory = try TemporaryDirectory(of: owner)
        for folder in ["home", "run"] {
            mkdir(directory.file(folder), 0o700)
            owner?.own(directory.file(folder))
        }
        var loaded = speakers.map { "module-null-sink sink_name=\($0.name) rate=\($0.rate) channels=\($0.channels)" }
        for device in microphones {
            let air = Self.air(device.name)
            loaded.append("module-null-sink sink_name=\(air) rate=\(device.rate) channels=\(device.channels)")
            loaded.append("module-remap-source source_name=\(device.name) master=\(air).monitor")
        }
        let environment = ["env", "HOME=\(directory.file("home"))", "XDG_RUNTIME_DIR=\(directory.file("run"))"]
        loaded += modules
        let socket: String
        let arguments: [String]
        switch program {
        case .pulseAudio:
            socket = directory.file("socket")
            let own = "module-native-protocol-unix socket=\(socket) auth-anonymous=1"
            arguments =
                [
                    "pulseaudio", "-n", "--daemonize=no", "--exit-idle-time=-1", "--disallow-exit", "--use-pid-file=no",
                    "--log-target=stderr", "--high-priority=no",
                ] + ([own] + loaded).flatMap { ["-L", $0] }
            loaded = []
        case .pipeWire:
            socket = directory.file("run/pulse/native")
            arguments = ["bash", "-c", Self.pipeWire]
        }
        address = "unix:\(socket)"
        command = owner?.running(environment + arguments) ?? environment + arguments
        process = try Subprocess(command)
        try waitUntilItListens()
        for module in loaded {
            try Subprocess.run(
                ["pactl", "load-module"] + module.split(separator: " ").map(String.init),
                environment: self.environment
            )
        }
        // A session manager needs a while to know them.
        try wait(until: "the default devices are taken") {
            for (kind, name) in [("sink", speakers.first?.name), ("source", microphones.first?.name)] {
                if let name, (try? pactl("set-default-\(kind)", name)) == nil { return false }
            }
            return true
        }
    }

    deinit { process.stop() }

    /// Starts the programs of a PipeWire one after the other, and ends them when it is ended.
    private static let pipeWire = """
        trap 'kill $(jobs -p); wait' EXIT
        trap exit TERM
        cd $XDG_RUNTIME_DIR
        export DBUS_SESSION_BUS_ADDRESS=unix:path=$PWD/bus
        unset DISPLAY
        ready() { until [ -S $1 ]; do sleep 0.05; done; }
        dbus-daemon --session --nofork --address=$DBUS_SESSION_BUS_ADDRESS & ready bus
        pipewire & ready pipewire-0
        wireplumber &
        pipewire-pulse &
        wait
        """

    /// The sink into which programs play that name none, although it is not the default; nil for the default one.
    package var sinkOfPrograms: String?

    /// The environment for programs that shall use this server.
    package var environment: [String: String] {
        ["PULSE_SERVER": address].merging(sinkOfPrograms.map { ["PULSE_SINK": $0] } ?? [:]) { $1 }
    }

    /// The name of the sink whose sound a microphone hears.
    package static func air(_ microphone: String) -> String { "\(microphone)-air" }

    /// Stops the server from answering, without ending it.
    package func freeze() { process.kill(SIGSTOP) }

    package func thaw() { process.kill(SIGCONT) }

    /// Has a sink ask for no sound for a second, as speakers do that are slow to wake. Programs keep what comes meanwhile.
    package func suspend(_ sink: String) throws {
        try pactl("suspend-sink", sink, "1")
        MonotonicClock.sleep(for: .seconds(1))
        try pactl("suspend-sink", sink, "0")
    }

    /// Kills the server, as a crash does.
    package func crash() throws {
        process.kill(SIGKILL)
        try process.wait()
    }

    /// Starts it again at the same address, with the same devices.
    package func restart() throws {
        unlink(String(address.dropFirst("unix:".count)))
        process = try Subprocess(command)
        try waitUntilItListens()
    }

    /// Runs `pactl` on the server. Returns its standard output.
    @discardableResult
    package func pactl(_ arguments: String...) throws -> String {
        try Subprocess.run(["pactl"] + arguments, environment: environment)
    }

    /// The streams of programs that record, a line each. The server's own, for devices that are made of others, have no client.
    package var recorders: [Substring] {
        get throws {
            try pactl("list", "short", "source-outputs").split(separator: "\n").filter {
                $0.split(separator: "\t")[2] != "-"
            }
        }
    }

    /// Plays sound once, or again and again until the program is stopped, after a tenth of a second of silence.
    ///
    /// - Parameters:
    ///   - device: the sink, by its name; nil for the default.
    ///   - repeating: the sound begins again at its end.
    /// - Returns: the program that plays it, which ends when it was heard.
    package func play(_ sound: SoundClip, into device: String? = nil, repeating: Bool = false) throws -> Subprocess {
        let file = directory.file("play.\(UInt64.random(in: .min ... .max))")
        // A sink that was idle loses the beginning of what is played.
        let silence = SoundClip.silence(lasting: 0.1, rate: sound.rate, channels: sound.channels)
        for (path, clip) in [(file, sound), ("\(file).first", silence)] {
            try FileDescriptor.open(path, O_WRONLY | O_CREAT | O_EXCL).write(clip.bytes, at: 0)
        }
        let options = device.map { " -d \($0)" } ?? ""
        let rest = repeating ? "while cat \(file); do :; done" : "cat \(file)"
        // The program itself is `pacat`, which can be stopped. It keeps two seconds in the server, which a busy machine cannot
        // use up.
        let script = "exec pacat -p --raw\(options) \(sound.pacatOptions) < <(cat \(file).first; \(rest))"
        return try Subprocess(["bash", "-c", script], environment: environment)
    }

    /// Plays sound into a microphone.
    package func speak(_ sound: SoundClip, into microphone: String, repeating: Bool = false) throws -> Subprocess {
        try play(sound, into: Self.air(microphone), repeating: repeating)
    }

    /// Starts to record what is played into a sink, or what a source hears.
    ///
    /// - Parameter device: of a source; `SINK.monitor` is what is played into a sink.
    package func record(_ device: String, rate: Int = 48_000, channels: Int = 1) throws -> SoundRecording {
        try SoundRecording(of: device, rate: rate, channels: channels, environment: environment)
    }

    private func waitUntilItListens() throws {
        try wait(until: "PulseAudio listens") {
            if let exit = process.status() { throw Failure(description: "\(exit): \(process.errorOutput)") }
            return (try? pactl("info")) != nil
        }
    }

    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }
}

/// A recording that goes on until it is stopped.
package final class SoundRecording {
    private let directory: TemporaryDirectory
    private let path: String
    private let process: Subprocess
    private let rate: Int
    private let channels: Int

    fileprivate init(of device: String, rate: Int, channels: Int, environment: [String: String]) throws {
        directory = try TemporaryDirectory()
        path = directory.file("sound")
        (self.rate, self.channels) = (rate, channels)
        let options = SoundClip(samples: [], rate: rate, channels: channels).pacatOptions.split(separator: " ")
        process = try Subprocess(
            ["pacat", "-r", "--raw", "--latency-msec=10", "-d", device] + options.map(String.init)
                + [path],
            environment: environment
        )
        // What is played now is recorded.
        try wait(until: "something is recorded") { duration > 0 }
    }

    /// What was recorded so far; complete once it was stopped.
    package var sound: SoundClip { SoundClip(reading: path, rate: rate, channels: channels) }

    /// Seconds that were recorded so far.
    package var duration: Double { SoundClip.duration(of: path, rate: rate, channels: channels) }

    /// Waits until so much was recorded, and returns it.
    package func sound(lasting duration: Duration) throws -> SoundClip {
        let needed = Int(duration / .milliseconds(1)) * rate / 1000 * channels
        try wait(until: "\(duration) were recorded") { SoundClip.samples(in: path) >= needed }
        return sound
    }

    /// Ends it, and returns all that was recorded.
    package func stop() -> SoundClip {
        process.stop()
        return sound
    }
}
