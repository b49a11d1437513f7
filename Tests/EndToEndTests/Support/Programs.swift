import Glibc
import Posix
import TestSupport

/// The programs that the tests run.
enum Programs {
    /// Oriel as an ordinary user runs it, whoever runs the tests.
    static let oriel: String = {
        do {
            return try OrdinaryUser.shared.launcher(of: orielOfTests, in: installation)
        } catch {
            preconditionFailure("cannot install \(orielOfTests): \(error)")
        }
    }()
    /// Oriel as the user of the tests runs it: where a test itself reads or writes the bridge, which is one user's alone.
    static var orielOfTests: String { "\(TestPrograms.directory)/oriel" }
    static var workload: String { "\(TestPrograms.directory)/workload" }

    /// Readers of the bridge in C.
    static let snapshot = Result { try compile("tools/readers/oriel-snapshot.c", reader) }
    static let recorder = Result { try compile("tools/readers/oriel-record.c", reader) }
    private static let reader = ["-std=c11", "-O2", "-I", "Sources/COrielBridge"]

    /// Libraries that are loaded into Oriel.
    static let intruder = Result { try compile("Tests/Counterparts/intruder.c", library) }
    static let sleeper = Result { try compile("Tests/Counterparts/sleeper.c", library) }
    static let clock = Result { try compile("Tests/Counterparts/clock.c", library) }
    private static let library = ["-shared", "-fPIC", "-O1"]

    /// Makes a program or a library that all users may run.
    private static func compile(_ source: String, _ flags: [String]) throws -> String {
        let name = source.split(separator: "/").last!.dropLast(".c".count)
        let path = installation.file(String(name))
        try Subprocess.run(["clang", "-Wall", "-Wextra", "-Werror"] + flags + ["-o", path, source])
        chmod(path, 0o755)
        return path
    }

    /// For what is made once a run. All users may enter it.
    private static let installation: TemporaryDirectory = {
        atexit { Programs.installation.remove() }
        let folder = try! TemporaryDirectory()
        chmod(folder.path, 0o755)
        return folder
    }()
}

/// Starts a workload on a display.
func draw(_ scene: String, on server: XServer, _ arguments: String...) throws -> Subprocess {
    try Subprocess([Programs.workload, scene, "--display", server.display] + arguments)
}

/// A broadcast folder of its own, and the commands that work on it.
final class Broadcast {
    let folder: TemporaryDirectory
    let display: String
    /// The program that its commands run.
    let oriel: String

    /// - Parameter isOfTests: whether the test reads or writes the bridge itself, so that its user must run the broadcast.
    init(on display: String, isOfTests: Bool = false) throws {
        folder = try TemporaryDirectory(of: isOfTests ? nil : .shared)
        oriel = isOfTests ? Programs.orielOfTests : Programs.oriel
        self.display = display
    }

    var directory: String { folder.file("bridge") }
    var sdp: String { folder.file("screen.sdp") }

    /// Starts `oriel start` and waits until it broadcasts.
    func start(_ arguments: String...) throws -> Subprocess { try start(arguments) }

    func start(_ arguments: [String]) throws -> Subprocess {
        let before = statusFile(in: directory)
        let capture = try Subprocess([oriel, "start", "--display", display, "--dir", directory] + arguments)
        try capture.wait(until: "the broadcast is live") {
            statusFile(in: directory) != before && isBroadcast(in: directory, "active")
        }
        return capture
    }

    /// Waits until it says that it is in a state, such as `source_lost`.
    func wait(forState state: String) throws {
        try TestSupport.wait(until: "the broadcast is \(state)") { isBroadcast(in: directory, state) }
    }

    /// Starts `oriel attach` to a port of the loopback and waits until it has written its SDP.
    func attach(toPort port: UInt16, _ arguments: String...) throws -> Subprocess {
        try attach(to: "rtp://127.0.0.1:\(port)", sdp: sdp, arguments)
    }

    /// Starts `oriel attach` and waits until it has written its SDP.
    func attach(to call: String, sdp: String, _ arguments: [String] = []) throws -> Subprocess {
        unlink(sdp)
        let sender = try Subprocess(
            [oriel, "attach", call, "--dir", directory, "--sdp", sdp] + arguments
        )
        try sender.wait(until: "the sender has written its SDP") { access(sdp, F_OK) == 0 }
        return sender
    }

    /// Runs a command on this broadcast to its end.
    func run(_ command: String, _ arguments: String...) throws -> CommandResult { try run([command] + arguments) }

    /// Runs a command on its recorders to its end.
    func record(_ words: [String]) throws -> CommandResult {
        try CommandResult([oriel, "record", words[0], "--dir", directory] + words.dropFirst())
    }

    func run(_ words: [String]) throws -> CommandResult {
        try CommandResult([oriel, words[0], "--dir", directory] + words.dropFirst())
    }
}

extension Subprocess {
    /// Waits for what only this program can bring about, such as a line that it writes. Throws at once if it has ended before.
    func wait(until what: @autoclosure () throws -> String, _ condition: () throws -> Bool) throws {
        try TestSupport.wait(until: "\(try what()): \(errorOutput)") {
            // What it wrote before its end counts.
            let exit = status()
            if try condition() { return true }
            if let exit { throw Unexpected("\(exit) before \(try what()): \(errorOutput)") }
            return false
        }
    }
}

/// Whether the broadcast in a folder, or its last capture process if that died, has said last that it is in a state. To start `oriel status`
/// takes ten times as long.
func isBroadcast(in directory: String, _ state: String) -> Bool {
    statusFile(in: directory).contains("\nstate=\(state)\n")
}

/// Empty if there is none.
private func statusFile(in directory: String) -> String {
    let bytes = try? FileDescriptor.open("\(directory)/status", O_RDONLY).readBytes(1024)
    return String(decoding: bytes ?? [], as: UTF8.self)
}

/// How a command ended and what it said.
struct CommandResult {
    let code: Int32?
    let output: String
    let errorOutput: String

    /// - Parameter timeout: for a script of several commands, longer.
    init(_ arguments: [String], environment: [String: String] = [:], timeout: Duration = patience) throws {
        let program = try Subprocess(arguments, environment: environment)
        code = if case .code(let code) = try program.wait(timeout: timeout) { code } else { nil }
        output = program.output
        errorOutput = program.errorOutput
    }
}

/// Takes a measure up to three times, as a busy machine may stand still during one. What is fine in none of them is broken.
func measure(_ what: @autoclosure () throws -> String, _ isFine: () throws -> Bool) throws {
    for _ in 0..<3 where try isFine() { return }
    throw Unexpected("never, in three measures: \(try what())")
}

func contents(of path: String) throws -> [UInt8] {
    let file = fopen(path, "rb")
    guard let file else { throw Unexpected("no \(path)") }
    defer { fclose(file) }
    var info = stat()
    fstat(fileno(file), &info)
    // One more byte than it has, to find its end with the first read. A file of /proc has no size.
    let part = max(Int(info.st_size) + 1, 4096)
    var bytes: [UInt8] = []
    while true {
        let more = [UInt8](unsafeUninitializedCapacity: part) { $1 = fread($0.baseAddress, 1, part, file) }
        bytes += more
        if more.count < part { return bytes }
    }
}

/// The red, green and blue of each pixel of a PNG file, as ffmpeg reads it.
func pixels(ofPicture path: String) throws -> [UInt8] {
    let raw = path + ".rgb"
    let format = ["-frames:v", "1", "-f", "rawvideo", "-pix_fmt", "rgb24"]
    try Subprocess.run(["ffmpeg", "-nostdin", "-y", "-v", "error", "-i", path] + format + [raw])
    return try contents(of: raw)
}

struct Unexpected: Error {
    let what: String

    init(_ what: String) { self.what = what }
}

/// The command line of a script that an ordinary user runs in a file system of a size such as `1m`, in a mount namespace of
/// its own: that needs root.
///
/// - Parameters:
///   - size: as mount(8) takes it, with more options after a comma.
///   - folder: where the file system is; the first argument of the script. The second is Oriel.
///   - arguments: more of the script's.
func commandLine(
    of script: String,
    onDiskOf size: String,
    at folder: TemporaryDirectory,
    _ arguments: String...
) -> [String] {
    let mount = "mount -t tmpfs -o size=\(size),mode=700,uid=$0 tmpfs \"$1\"; shift; exec \"$@\""
    let namespace = ["unshare", "--mount"] + (geteuid() == 0 ? [] : ["--map-root-user"])
    return namespace + ["sh", "-c", mount, geteuid() == 0 ? "\(OrdinaryUser.shared.id)" : "0", folder.path]
        + OrdinaryUser.shared.running(["sh", "-c", script, "sh", folder.path, Programs.oriel] + arguments)
}
