import FoundationEssentials
import TestSupport
import Testing

extension Refuse {
    /// Each option of each command, with values that nobody should give it.
    @Suite struct OptionTests {
        /// What `--experimental-dump-help` tells of a command.
        private struct Command: Decodable {
            struct Argument: Decodable, Hashable {
                struct Name: Decodable, Hashable {
                    let name: String
                }

                let kind: String
                let isOptional: Bool
                let valueName: String?
                let allValues: [String]?
                let names: [Name]?
            }

            struct Whole: Decodable {
                let command: Command
            }

            let commandName: String
            let arguments: [Argument]?
            let subcommands: [Command]?

            /// A command line that needs nothing more, and ends soon.
            var shortest: [String] {
                let needed = (arguments ?? []).filter { !$0.isOptional }
                let values = needed.map { argument in
                    let value = argument.valueName == "call" ? "web" : argument.allValues?.first ?? "1000000"
                    return argument.kind == "option" ? "--\(argument.names![0].name)=\(value)" : value
                }
                // No name of a host ends so (RFC 2606).
                return [commandName] + values + (commandName == "rooms" ? ["--listen=nowhere.invalid:80"] : [])
            }
        }

        private static let nonsense = ["", "x", "-1", "99999999999999999999", "/no-such-file", "a:b@h?c"]

        @Test func noNameOfSwiftReachesAPerson() throws {
            let folder = try TemporaryDirectory(of: .shared)
            // Without broadcasts and displays.
            let environment = [
                "XDG_RUNTIME_DIR": folder.file("none"), "XDG_STATE_HOME": folder.file("state"), "DISPLAY": "",
            ]
            let dump = try Subprocess.run([Programs.oriel, "--experimental-dump-help"])
            let whole = try JSONDecoder().decode(Command.Whole.self, from: Data(dump.utf8)).command
            // Several commands share options.
            var tried: Set<Command.Argument> = []
            for command in whole.subcommands ?? [] {
                for option in command.arguments ?? [] where option.kind == "option" && tried.insert(option).inserted {
                    for value in Self.nonsense {
                        let line = command.shortest + ["--\(option.names![0].name)=\(value)"]
                        let result = try CommandResult([Programs.oriel] + line, environment: environment)
                        #expect(result.code != nil, "\(line)")
                        #expect(swiftWords(in: result.errorOutput) == [], "\(line): \(result.errorOutput)")
                        #expect(result.errorOutput.split(separator: "\n").count <= 1, "\(line): \(result.errorOutput)")
                    }
                }
            }
            #expect(tried.count > 50)
        }
    }
}
