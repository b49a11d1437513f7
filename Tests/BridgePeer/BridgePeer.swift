import FrameBridge
import Glibc
import Posix
import Time

/// One side of a bridge in a process of its own, for tests that kill it, stop it, or run a broken variant of it.
///
/// Usage: bridge-peer COMMAND FOLDER [WORD…]; what it found goes to standard output as words of the form `key=value`. Exits 1
/// with the sentence of an error.
@main
enum BridgePeer {
    static func main() {
        let words = CommandLine.arguments.dropFirst()
        guard words.count >= 2, let command = words.first else { exit(64) }
        let options = Options(words.dropFirst(2))
        do {
            let directory = try BridgeDirectory(
                path: words[words.startIndex + 1],
                create: ["write", "speak", "pair", "pair-sound"].contains(command)
            )
            switch command {
            case "write": try write(to: directory, options)
            case "read": try read(from: directory, options)
            case "watch": try watch(directory, options)
            case "look": try look(at: directory)
            case "ask": try ask(directory, options)
            case "pair": try pair(in: directory, options)
            case "mutate": try mutate(directory, options)
            case "sing": try sing(in: directory, options)
            case "pair-sound": try pairSound(in: directory, options)
            case "mutate-sound": try mutateSound(directory, options)
            case "speak": try speak(in: directory, options)
            case "listen": try listen(to: directory, options)
            case "overhear": try overhear(directory, options)
            case "record": try record(in: directory, options)
            default: exit(64)
            }
        } catch {
            say("error=\(error)")
            exit(1)
        }
    }
}

/// Words of the form `key=value`, and the others in their order.
struct Options {
    private var values: [Substring: Substring] = [:]
    private(set) var rest: [String] = []

    init(_ words: ArraySlice<String>) {
        for word in words {
            let parts = word.split(separator: "=", maxSplits: 1)
            if parts.count == 2 { values[parts[0]] = parts[1] } else { rest.append(word) }
        }
    }

    subscript(key: Substring) -> String? { values[key].map(String.init) }

    /// After so many `seconds`, or an hour.
    var end: Instant { now() + .seconds(Int64(clamping: self["seconds", default: 3600])) }

    subscript(key: Substring, default value: UInt64) -> UInt64 { values[key].flatMap { UInt64($0) } ?? value }
}

/// Prints a line at once.
func say(_ line: String) { try? Posix.write(line + "\n", to: 1) }

func now() -> Instant { MonotonicClock.now() }

/// Where a variant with crash hooks may end this process.
func crashPoint() {}
