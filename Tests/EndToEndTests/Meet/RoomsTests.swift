import FoundationEssentials
import Glibc
import Posix
import TestSupport
import Testing

extension Meet {
    /// `oriel rooms` with clients that others wrote.
    @Suite struct RoomsTests {
        /// A server of rooms at a port of its own.
        private final class Server {
            let process: Subprocess
            let port: UInt16

            init(_ arguments: [String] = []) throws {
                let process = try Subprocess([Programs.oriel, "rooms", "--listen", "127.0.0.1:0"] + arguments)
                var port: UInt16?
                try process.wait(until: "the server listens") {
                    port = process.outputLines.last?.split(whereSeparator: { ":/".contains($0) }).last.flatMap {
                        UInt16($0)
                    }
                    return port != nil
                }
                (self.process, self.port) = (process, port!)
            }
        }

        private struct Outcome: Decodable {
            let events: Int
            let wrong: String?
        }

        /// Clients by polling, by WebSocket, and by both, one after the other.
        @Test func clientsOfPythonAreToldWhatAModelSays() throws {
            let server = try Server()
            let walk = try Subprocess(
                Counterparts.python + [
                    Counterparts.path("rooms_walk.py"), "http://127.0.0.1:\(server.port)", "1", "3000",
                ]
            )
            try walk.wait()
            let line = try #require(walk.output.split(separator: "\n").last, "\(walk.errorOutput)")
            let outcome = try JSONDecoder().decode(Outcome.self, from: Data(line.utf8))
            #expect(outcome.wrong == nil)
            #expect(outcome.events > 1500)
            server.process.kill(SIGTERM)
            try #expect(server.process.wait() == .code(0))
            #expect(!server.process.errorOutput.contains("rror"), "\(server.process.errorOutput)")
        }

        private struct Hostility: Decodable {
            struct Flood: Decodable {
                let gone: Bool
                let heard, sent: Int
            }
            struct Many: Decodable { let joined, full: Int }
            struct Deaf: Decodable {
                let sent: Int
                let gone: Bool
            }
            struct Renewals: Decodable { let status, bytes, rest: Int }
            let flood: Flood
            let many: Many
            let deaf: Deaf
            let renewals: Renewals
            /// Whether others could talk all the while.
            let quiet: Bool
        }

        /// One floods, one joins a thousand rooms, one never polls, and one connects again and again: each is bounded, and others notice nothing.
        /// Invariant: admitted.
        @Test func hostileClientsTakeNothingFromOthers() throws {
            let server = try Server()
            let clients = try Subprocess(
                Counterparts.python + [Counterparts.path("rooms_hostile.py"), "127.0.0.1", "\(server.port)"]
            )
            try clients.wait()
            let line = try #require(clients.output.split(separator: "\n").last, "\(clients.errorOutput)")
            let told = try JSONDecoder().decode(Hostility.self, from: Data(line.utf8))
            #expect(told.quiet)
            #expect(told.flood.gone && told.flood.heard < told.flood.sent)
            #expect(told.many.joined == 4 && told.many.full == 996)
            // 1 MB waits for it at the most.
            #expect(told.deaf.gone && told.deaf.sent < 100)
            #expect(told.renewals.status == 429 && told.renewals.bytes + told.renewals.rest < 1000)
            let statistics = try #require(ProcessStatistics(of: server.process.pid))
            #expect(statistics.residentBytes < 100_000_000)
            server.process.kill(SIGTERM)
            try #expect(server.process.wait() == .code(0))
        }

        @Test func whatIsNoRequestForRoomsIsRefused() throws {
            let server = try Server()
            func status(_ target: String, _ method: String = "GET", body: String = "") throws -> Int {
                try HTTPClient(port: server.port).request(method, target, body: body).status
            }
            #expect(try status("/a/room") == 404)
            #expect(try status("/room", "POST") == 404)
            #expect(try status("/socket.io/") == 400)
            #expect(try status("/socket.io/?EIO=3&transport=polling") == 400)
            #expect(try status("/socket.io/?EIO=4&transport=polling&sid=nobody") == 400)
            #expect(try status("/socket.io/?EIO=4&transport=polling") == 200)
            #expect(try status("/socket.io/?EIO=4&transport=polling", "POST", body: "40") == 400)
            #expect(try status("/socket.io/?EIO=4&transport=websocket") == 400)
            #expect(server.process.status() == nil)
        }

        /// The files are read by a process of their own, as the server reads none any more.
        @Test func aCertificateIsRenewedWhileTheServerRuns() throws {
            let folders = try (0..<2).map { _ in try TemporaryDirectory(of: .shared) }
            defer { withExtendedLifetime(folders) {} }
            let files = try folders.map { try makeCertificate(for: ["oriel.test"], in: $0) }
            let server = try Server(["--tls-cert", files[0].certificate, "--tls-key", files[0].key])
            try check("rename") { rename(files[1].certificate, files[0].certificate) }
            try check("rename") { rename(files[1].key, files[0].key) }
            func fingerprint(_ command: String) throws -> String {
                try Subprocess.run(["sh", "-c", "\(command) | openssl x509 -noout -fingerprint -sha256"])
            }
            // They are looked at when the first client comes, and a minute later again.
            let shown = try fingerprint("openssl s_client -connect 127.0.0.1:\(server.port) </dev/null 2>/dev/null")
            #expect(try shown == fingerprint("cat \(files[0].certificate)"))
            try server.process.wait(until: "it is told") {
                server.process.errorOutput.contains("\(files[0].certificate) was renewed")
            }
        }

        @Test func aProcessThatCannotReadARenewalAnyMoreIsTold() throws {
            let folder = try TemporaryDirectory(of: .shared)
            let files = try makeCertificate(for: ["oriel.test"], in: folder)
            let server = try Server(["--tls-cert", files.certificate, "--tls-key", files.key])
            let reader = try #require(try SharedScreen.child("read", of: server.process.pid))
            kill(reader, SIGKILL)
            let client = "openssl s_client -connect 127.0.0.1:\(server.port) </dev/null 2>/dev/null"
            #expect(try Subprocess.run(["sh", "-c", client]).contains("BEGIN CERTIFICATE"))
            let sentence = "the process that reads the certificate again has ended"
            try server.process.wait(until: "it is told") { server.process.errorOutput.contains(sentence) }
        }

        @Test(
            arguments: [
                (["--capacity", "1"], 64), (["--max-clients", "1"], 64), (["--tls-cert", "x"], 64),
                (["--listen", "x:y"], 64),
                (["--other-joined", "x"], 64), (["--tls-cert", "/nowhere", "--tls-key", "/nowhere"], 1),
            ] as [([String], Int32)]
        )
        func badOptions(arguments: [String], code: Int32) throws {
            let process = try Subprocess([Programs.oriel, "rooms", "--listen", "127.0.0.1:0"] + arguments)
            try #expect(process.wait() == .code(code))
            #expect(!process.errorOutput.isEmpty)
        }
    }
}
