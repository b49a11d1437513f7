import FoundationEssentials
import Posix

/// The program behind a `Browser`: `Tests/Counterparts/browser.py`, and the browser that it drives.
final class BrowserProcess: @unchecked Sendable {  // one test at a time has the network that it belongs to
    private struct Answer<Value: Decodable>: Decodable {
        let value: Value?
        let error: String?
    }

    let kind: Browser.Kind
    private let process: Subprocess
    private let pipe: Pipe
    private var linesRead = 0
    private var owesAnswer = true

    /// - Parameters:
    ///   - place: the command line that runs another one where the browser belongs.
    ///   - arguments: for `browser.py`.
    init(
        _ kind: Browser.Kind,
        at place: ([String]) -> [String],
        _ arguments: [String],
        environment: [String: String] = [:]
    ) throws {
        self.kind = kind
        pipe = try Pipe()
        let program = ["/usr/bin/python3", Counterparts.path("browser.py"), kind.rawValue]
        process = try Subprocess(place(program + arguments), environment: environment, input: pipe.reading.raw)
        _ = try nextLine("the browser is ready", patience)
    }

    deinit {
        quit()
        _ = try? process.wait()
    }

    var pid: Int32 { process.pid }

    /// Tells it to end, and does not wait.
    func quit() { try? pipe.writing.write("{\"do\":\"quit\"}\n") }

    func ask<Value: Decodable>(_ fields: [String: String], timeout: Duration = patience) throws -> Value? {
        let line = String(decoding: try JSONEncoder().encode(fields), as: UTF8.self)
        owesAnswer = true
        try pipe.writing.write(line + "\n")
        let answer = try nextLine("the browser answers \(line)", timeout)
        let decoded = try JSONDecoder().decode(Answer<Value>.self, from: Data(answer.utf8))
        if let error = decoded.error { throw Browser.Failure(description: "\(line): \(error)") }
        return decoded.value
    }

    /// Opens a page in a context of its own: without storage, cookies, permissions and user activation of those before.
    /// Ends the browser if that does not work.
    func begin() throws { try change("begin", timeout: .seconds(60)) }

    /// Throws the context away. Ends the browser if that does not work: one that hangs does not answer in ten seconds.
    func rest() throws { try change("rest", timeout: .seconds(10)) }

    private func change(_ command: String, timeout: Duration) throws {
        do {
            if owesAnswer { throw Browser.Failure(description: "\(command): the browser still owes an answer") }
            let _: Bool? = try ask(["do": command], timeout: timeout)
        } catch {
            process.stop(timeout: .seconds(20))
            throw error
        }
    }

    private func nextLine(_ what: String, _ timeout: Duration) throws -> String {
        var line = ""
        try wait(until: what, timeout: timeout) {
            if let exit = process.status() {
                throw Browser.Failure(description: "\(what): \(exit) \(process.errorOutput)")
            }
            let lines = process.outputLines
            guard lines.count > linesRead else { return false }
            line = String(lines[linesRead])
            return true
        }
        linesRead += 1
        owesAnswer = false
        return line
    }
}
