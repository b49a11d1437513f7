/// What a sound server has.
struct ServerView: Equatable {
    /// A source: a microphone, or the monitor of a sink.
    struct Source: Equatable {
        let name: String
        let description: String
        let isMonitor: Bool
    }

    /// A sink: speakers, for example.
    struct Sink: Equatable {
        let index: UInt32
        let name: String
        let description: String
        /// The source that hears what is played there.
        let monitor: String
    }

    /// What one program plays in one stream.
    struct Input: Equatable {
        let index: UInt32
        /// The sink that plays it.
        let sink: UInt32
        /// The process, as the program itself says.
        let process: Int32?
        /// Whether this process plays it.
        let isOwn: Bool
    }

    var defaultSource: String?
    var defaultSink: String?
    var sources: [Source] = []
    var sinks: [Sink] = []
    var inputs: [Input] = []

    /// The source that is heard as the microphone: the one of a name, or the default one unless that is a monitor, which hears what the
    /// machine plays.
    func microphone(named name: String?) -> Source? {
        if let name { return sources.first { $0.name == name } }
        let others = sources.filter { !$0.isMonitor }
        return others.first { $0.name == defaultSource } ?? others.first
    }

    /// The sink of a name, or the default one.
    func sink(named name: String?) -> Sink? {
        let wanted = name ?? defaultSink
        return sinks.first { $0.name == wanted }
    }

    /// What a stream hears or plays, for people.
    func name(of target: SoundTarget) -> String {
        switch target {
        case .monitor(let name), .microphone(let name, _):
            sources.first { $0.name == name }?.description ?? name
        case .output(let name): sinks.first { $0.name == name }?.description ?? name
        case .input(let index): "the sound of stream \(index)"
        }
    }
}
