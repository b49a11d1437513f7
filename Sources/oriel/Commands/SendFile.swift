import ArgumentParser
import Glibc
import Helpers
import Nearby
import Pairing
import Posix

struct SendFile: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Send files to a paired device.",
        discussion: """
            They go to the folder that the other device names with --inbox, one after the other. Where the connection breaks, the command waits \
            for it, and goes on. Ctrl-C cancels.
            """
    )

    @OptionGroup var choice: PairChoice

    @Argument(help: ArgumentHelp("The files.", valueName: "file"))
    var files: [String]

    func run() throws {
        let pair = try choice.pair(of: try PairStore())
        // All are there before the first one goes.
        let opened = try files.map { path in (path, try Self.open(path)) }
        for (path, file) in opened {
            let nearby = try NearbyClient()
            let name = path.split(separator: "/").last.map { String($0) } ?? path
            try nearby.connection.send(.sendFile(pair: "\(pair.id)", name: name), with: file)
            try wait(nearby, path)
        }
    }

    private static func open(_ path: String) throws -> GivenFile {
        do throws(SystemError) {
            let raw = try check("open") { Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) }
            let file = GivenFile(FileDescriptor(taking: raw))
            guard file.facts != nil else { throw SystemError("open", code: EISDIR) }
            return file
        } catch {
            let reason = error.code == EISDIR ? "it is no plain file" : error.reason
            throw Failure(.failed, "cannot send \(path) (\(reason)): name a file that you can read")
        }
    }

    private func wait(_ nearby: NearbyClient, _ path: String) throws {
        while true {
            switch try nearby.connection.next(until: nil, nearby.signals) {
            case .reply(.done): return
            case .reply(.progress(let done, let size)):
                if Console.hasTerminal { Console.progress("\(path): \(size == 0 ? 100 : done * 100 / size) %") }
            case .reply(.note(let sentence)): Console.note(sentence)
            case .reply(.failed(let failure, let sentence)): throw Failure(of: failure, "\(path): \(sentence)")
            case .reply: break
            case .interrupted, .late: throw ExitCode.failure
            case .ended: throw Failure(.tryAgain, "the process for devices nearby has ended: try again")
            }
        }
    }
}
