import Foundation
import Posix
import TestSupport

/// A program that attacks from a network of its own, on command. It gets the processor time that others leave.
final class Attacker {
    /// At the viewers' end, in another network.
    static let address = "10.98.0.2"

    struct Outcome: Decodable {
        /// In the attack's own unit.
        let sent: Int
        /// Seconds; nil if nothing was refused.
        let refusedAfter: Double?
    }

    private let process: Subprocess
    private let pipe: TestSupport.Pipe

    static func script(_ arguments: [String], seconds: Double) -> [String] {
        ["/usr/bin/python3", Counterparts.path("attacks.py")] + arguments
            + ["--seconds", "\(seconds)", "--from", address]
    }

    /// Returns when the program is ready.
    init(_ command: [String], in network: Network) throws {
        try Subprocess.run(network.atViewer(["ip", "address", "replace", "\(Self.address)/32", "dev", "wire"]))
        pipe = try TestSupport.Pipe()
        process = try Subprocess(network.atViewer(["nice", "-n", "19"] + command), input: pipe.reading.raw)
        try wait(until: "the attacker is ready", timeout: .seconds(30)) {
            guard process.status() == nil else { throw BenchError("the attacker ended: \(process.errorOutput)") }
            return process.output.contains("ready")
        }
    }

    deinit { process.stop() }

    func begin() throws { try pipe.writing.write("\n") }

    /// Waits for the end of the attack.
    func outcome() throws -> Outcome { try lastLine(of: process) }
}

/// Three viewers that come at once.
final class Newcomers {
    private struct Outcome: Decodable {
        let admitted: Int
    }

    private let process: Subprocess

    static func script(_ arguments: [String]) -> [String] {
        ["/usr/bin/python3", Counterparts.path("newcomers.py")] + arguments
    }

    init(_ command: [String], in network: Network) throws { process = try Subprocess(network.atViewer(command)) }

    deinit { process.stop() }

    /// The number of admitted ones.
    func admitted() throws -> Int { try (lastLine(of: process) as Outcome).admitted }
}

/// A program's last words, in JSON.
private func lastLine<Value: Decodable>(of process: Subprocess) throws -> Value {
    try process.wait(timeout: .seconds(60))
    guard let line = process.output.split(separator: "\n").last(where: { $0.hasPrefix("{") }) else {
        throw BenchError("the program said nothing: \(process.errorOutput)")
    }
    let decoder = JSONDecoder()
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    return try decoder.decode(Value.self, from: Data(line.utf8))
}
