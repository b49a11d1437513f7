import Configuration
import Control
import Desktop
import FrameBridge
import Helpers
import Media
import Synchronization

/// What commands of viewers can do on the desktop of the person who shares, by processes beside the sender.
struct SharedDesktop: Sendable {
    /// Of a sender that viewers do not reach.
    static let none = SharedDesktop()

    private let settings: DesktopSettings
    /// In the words of the capture process.
    private let shownSource: @Sendable () -> String?
    private let process: Desktop?
    private let hook: MessageHook?
    private let sounds: InstalledSounds
    private let knockHook: MessageHook?
    private let choices: Choices

    /// What was chosen last.
    private final class Choices: Sendable {
        /// For knocks.
        let chime: Mutex<Int?>
        let frame: Mutex<StatusFrame>

        init(chime: Int?, frame: StatusFrame) {
            self.chime = Mutex(chime)
            self.frame = Mutex(frame)
        }
    }

    private init() {
        (settings, shownSource, process, hook) = (DesktopSettings(), { nil }, nil, nil)
        (sounds, knockHook, choices) = (InstalledSounds(in: []), nil, Choices(chime: nil, frame: .off))
    }

    /// Starts the processes, before this one gives that up.
    ///
    /// - Throws: a sentence.
    init(_ settings: DesktopSettings, of directory: BridgeDirectory) throws {
        self.settings = settings
        let sounds = InstalledSounds()
        self.sounds = sounds
        shownSource = { try? directory.shownSource() }
        process = try Desktop(
            of: directory.path,
            on: settings.display,
            sources: settings.sources.map(\.words),
            frame: settings.statusFrame,
            sounds: sounds.all.map(\.path)
        )
        hook = try settings.program.map { try MessageHook($0) }
        knockHook = try settings.knockProgram.map { try MessageHook($0, seconds: settings.knockSeconds) }
        let index = settings.knockChime.flatMap { name in sounds.all.firstIndex { $0.name == name } }
        if let name = settings.knockChime, index == nil {
            let some = sounds.all.prefix(8).map(\.name).joined(separator: ", ")
            throw Failure(
                .failed,
                "no sound \"\(name)\" is installed: "
                    + (some.isEmpty ? "there are none" : "choose one, such as \(some)")
            )
        }
        choices = Choices(chime: index.map { $0 + 1 }, frame: settings.statusFrame)
    }

    /// Call it once the sandbox is closed.
    func begin() throws { try process?.begin() }

    func close() { process?.close() }

    /// Whether viewers can command.
    var isServed: Bool { process != nil }

    func note(isWatched: Bool, _ completion: @escaping CommandRefusal.Completion) {
        process?.order(.watched(isWatched), completion)
    }

    /// Does a command; others than those about the desktop are refused.
    func perform(_ command: ViewerCommand, of who: String, _ completion: @escaping CommandRefusal.Completion) {
        guard let process else { return completion(CommandRefusal("unsupported", "this sender has no page")) }
        switch command {
        case .source(let name):
            switch source(name) {
            case .success(let source): process.order(.show(source: source.words), completion)
            case .failure(let refusal): completion(refusal)
            }
        case .highlight(let highlight): process.order(.highlight(numbers: highlight.numbers), completion)
        case .statusFrame(let frame):
            process.order(.frame(frame)) { [choices] refusal in
                if refusal == nil { choices.frame.withLock { $0 = frame } }
                completion(refusal)
            }
        case .message(let text):
            process.order(.notify(title: who, text: "\(text)"))
            if let message = ServiceMessage("message", ["text": "\(text)"]) { _ = hook?.run(message, from: who) }
            completion(nil)
        case .service(let message): completion(hook?.run(message, from: who))
        case .chime(.play(let number)):
            if let refusal = refusal(ofSound: number) { return completion(refusal) }
            process.order(.chime(number), completion)
        case .chime(.select(let number)):
            if let refusal = number.flatMap({ refusal(ofSound: $0) }) { return completion(refusal) }
            choices.chime.withLock { $0 = number }
            completion(nil)
        case .viewport, .legibility: completion(CommandRefusal("unsupported", "that is not about the desktop"))
        }
    }

    /// Somebody asks to look in.
    func noteKnock(_ name: String) {
        if let number = choices.chime.withLock(\.self) { process?.order(.chime(number)) }
        let message = ServiceMessage("knock", ["name": name]) ?? ServiceMessage("knock", [:])
        if let message { _ = knockHook?.run(message, from: name) }
    }

    private func refusal(ofSound number: Int) -> CommandRefusal? {
        sounds.all.indices.contains(number - 1)
            ? nil : CommandRefusal("unknown", "there is no sound \(number): see the list")
    }

    /// Whether messages for a program reach one.
    var takesMessages: Bool { hook != nil }

    /// Adds what can be done to the capabilities of the share.
    func describe(_ commands: inout Capabilities.Commands) {
        if hook != nil { commands.service = Capabilities.Service() }
        guard let process, !process.hasEnded else { return }
        commands.highlight = Capabilities.Ring()
        commands.statusFrame = Capabilities.Choice(StatusFrame.allCases, selected: choices.frame.withLock(\.self))
        if !settings.sources.isEmpty {
            let selected = presentSource.map { settings.sources[$0].name }
            commands.source = Capabilities.Sources(settings.sources.map(\.name), selected: selected)
        }
        if !sounds.all.isEmpty {
            commands.chime = Capabilities.Chimes(sounds.all.map(\.name), selected: choices.chime.withLock(\.self))
        }
    }

    /// - Parameter name: `next` for the one after the present one.
    private func source(_ name: String) -> Result<NamedSource, CommandRefusal> {
        let sources = settings.sources
        if let source = sources.first(where: { $0.name == name }) { return .success(source) }
        guard !sources.isEmpty else {
            return .failure(CommandRefusal("unsupported", "no sources were allowed: give --allow-source"))
        }
        guard name == "next" else {
            let names = sources.map { "\"\($0.name)\"" }.joined(separator: ", ")
            return .failure(CommandRefusal("unknown", "there is no such source: choose one of \(names)"))
        }
        return .success(sources[presentSource.map { ($0 + 1) % sources.count } ?? 0])
    }

    /// Of the allowed sources, the one that is shown; nil for another one.
    private var presentSource: Int? {
        // A window has a mark behind its number.
        let shown = shownSource() ?? ""
        return settings.sources.firstIndex { shown == $0.words || shown.hasPrefix("\($0.words) ") }
    }
}
