/// The sources, sinks and sink inputs of a sound server.
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
        /// The source that records the sink's sound.
        let monitor: String
    }

    /// The sound of one program in one stream.
    struct Input: Equatable {
        let index: UInt32
        let sink: UInt32
        /// The process, according to the program itself.
        let process: Int32?
        /// Whether this process plays it.
        let isOwn: Bool
    }

    var defaultSource: String?
    var defaultSink: String?
    var sources: [Source] = []
    var sinks: [Sink] = []
    var inputs: [Input] = []

    /// The source that is recorded as the microphone: the one of this name, or the default one unless it is a monitor,
    /// which records the machine's own sound.
    func microphone(named name: String?) -> Source? {
        if let name { return sources.first { $0.name == name } }
        let others = sources.filter { !$0.isMonitor }
        return others.first { $0.name == defaultSource } ?? others.first
    }

    func sink(named name: String?) -> Sink? {
        let wanted = name ?? defaultSink
        return sinks.first { $0.name == wanted }
    }

    /// The name of a stream's source or sink, for people.
    func name(of target: SoundTarget) -> String {
        switch target {
        case .monitor(let name), .microphone(let name, _):
            sources.first { $0.name == name }?.description ?? name
        case .output(let name): sinks.first { $0.name == name }?.description ?? name
        case .input(let index): "the sound of stream \(index)"
        }
    }
}
