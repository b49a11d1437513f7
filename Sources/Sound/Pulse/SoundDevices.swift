import Posix
import Time

/// The devices of the sound server, for people to choose from.
package enum SoundDevices {
    package struct Device: Sendable, Equatable {
        package enum Kind: String, Sendable { case microphone, output, monitor }

        package let kind: Kind
        package let name: String
        package let description: String
        package let isDefault: Bool
    }

    package struct Unavailable: Error, CustomStringConvertible {
        /// The reason in libpulse's words.
        let reason: String

        package var description: String {
            "no sound server can be had (\(reason)): start one, or name it with PULSE_SERVER"
        }
    }

    private static let patience = Duration.seconds(4)

    /// Asks the sound server, and waits up to four seconds.
    package static func list() throws(Unavailable) -> [Device] {
        let deadline: Instant = MonotonicClock.now() + patience
        let loop = PulseLoop()
        var events: [SoundSession.Event] = []
        let connection = PulseConnection(loop) { events.append($0) }
        defer { connection.close() }
        connection.connect()
        while MonotonicClock.now() < deadline {
            loop.turn(until: deadline)
            for event in events {
                switch event {
                case .viewed(let view): return devices(of: view)
                case .serverLost(let reason): throw Unavailable(reason: reason)
                default: break
                }
            }
            events = []
        }
        throw Unavailable(reason: "it does not answer")
    }

    private static func devices(of view: ServerView) -> [Device] {
        let sources = view.sources.map { source in
            Device(
                kind: source.isMonitor ? .monitor : .microphone,
                name: source.name,
                description: source.description,
                isDefault: source == view.microphone(named: nil)
            )
        }
        let sinks = view.sinks.map { sink in
            Device(
                kind: .output,
                name: sink.name,
                description: sink.description,
                isDefault: sink.name == view.defaultSink
            )
        }
        return sources.filter { $0.kind == .microphone } + sinks + sources.filter { $0.kind == .monitor }
    }
}
