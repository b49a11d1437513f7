import Glibc
import Posix
import TestSupport
import Testing

extension Find {
    @Suite struct DevicePairingTests {
        /// By a name, and a code that is typed; whichever side shows it. Then each line reaches the other side.
        @Test(arguments: Neighbours.Machine.allCases)
        func aCodeIsTyped(shower: Neighbours.Machine) throws {
            let neighbours = try Neighbours()
            try neighbours.pair(shower)
            for machine in Neighbours.Machine.allCases {
                let pairs = try neighbours.run(machine, "pairs").output
                #expect(pairs.hasPrefix("\(machine.other): watch,call,message,files, since 2"))
                for name in ["identity", "pairs"] {
                    var info = stat()
                    #expect(stat("\(neighbours.folder(machine))/\(name)", &info) == 0 && info.st_mode & 0o777 == 0o600)
                }
            }
            let watchers = try Neighbours.Machine.allCases.map { try neighbours.watch($0) }
            for watcher in watchers {
                try watcher.wait(until: "they are linked") { $0.contains { $0.isPaired && $0.link == "connected" } }
            }
            let told = try neighbours.run(.desk, "tell", "tablet", "dinner\u{1B}[2J is ready", "-p", "room=kitchen")
            #expect(told.code == 0, "\(told.errorOutput)")
            var line: Neighbours.Change?
            try watchers[1].process.wait(until: "the line is there") {
                line = watchers[1].changes.first { $0.event == "message" }
                return line != nil
            }
            #expect(line?.from == "desk" && line?.text == "dinner\u{1B}[2J is ready")
            #expect(line?.parameters == ["room": "kitchen"])
        }

        /// What another code was typed for is of no use, and nothing is stored.
        @Test func aWrongCodePairsNobody() throws {
            let neighbours = try Neighbours()
            let shown = try neighbours.showCode(.desk)
            let wrong = shown.code == "000 000" ? "111111" : "000000"
            let taken = try neighbours.run(.tablet, ["pair", "desk"], typing: wrong)
            #expect(taken.exit == .code(77) && taken.errorOutput.contains("the code is wrong"), "\(taken.errorOutput)")
            try shown.process.wait(until: "the next code is shown") { shown.process.outputLines.count == 2 }
            let next = shown.process.outputLines[1]
            #expect(next != shown.code)
            // The one before is as wrong.
            #expect(try neighbours.run(.tablet, ["pair", "desk"], typing: shown.code).exit == .code(77))
            for machine in Neighbours.Machine.allCases { #expect(try neighbours.run(machine, "pairs").output.isEmpty) }
            for typed in ["12345", "abcdef", "", "1234567"] {
                #expect(try neighbours.run(.tablet, ["pair", "desk"], typing: typed).exit != .code(0))
            }
            shown.process.stop()
        }

        /// Where nothing but TCP gets through, by the text of the photographed code.
        @Test func aPhotographedCodeNeedsNoDiscovery() throws {
            let neighbours = try Neighbours()
            try neighbours.network.blockUDP()
            let shown = try neighbours.showCode(.desk, "--photo")
            #expect(shown.code.hasPrefix("oriel://\(Network.senderAddress):53390/?at="))
            let taken = try neighbours.run(.tablet, ["pair", shown.code], typing: "")
            #expect(taken.exit == .code(0) && taken.output == "paired with desk\n", "\(taken.errorOutput)")
            #expect(try shown.process.wait(timeout: patience) == .code(0))
            // The pairs meet by the addresses that they had.
            let watcher = try neighbours.watch(.desk, visible: "named")
            let other = try neighbours.watch(.tablet, visible: "off")
            for watcher in [watcher, other] {
                try watcher.wait(until: "they are linked") { $0.contains { $0.isPaired && $0.link == "connected" } }
            }
            #expect(other.devices[0].drivers == ["address"])
        }

        /// An address is asked for its announcement.
        @Test func anAddressIsTyped() throws {
            let neighbours = try Neighbours()
            let shown = try neighbours.showCode(.desk)
            let taken = try neighbours.run(.tablet, ["pair", Network.senderAddress], typing: shown.code)
            #expect(taken.exit == .code(0), "\(taken.errorOutput)")
            #expect(try shown.process.wait(timeout: patience) == .code(0))
        }

        @Test(arguments: Neighbours.Machine.allCases, [true, false])
        func bothSidesEndIt(machine: Neighbours.Machine, isThere: Bool) throws {
            let neighbours = try Neighbours()
            try neighbours.pair()
            let there = try isThere ? neighbours.watch(machine.other) : nil
            if let there {
                try there.wait(until: "it is announced") { !$0.isEmpty }
            } else {
                try neighbours.waitUntilGone(machine.other)
            }
            let ended = try neighbours.run(machine, "unpair", machine.other.rawValue)
            #expect(ended.code == 0, "\(ended.errorOutput)")
            if isThere {
                #expect(try neighbours.run(machine, "pairs").output.isEmpty)
            } else {
                #expect(ended.errorOutput.contains("\(machine.other) is not there: it is told when both meet again"))
                #expect(try neighbours.run(machine, "pairs").output.contains("given up, and not told so yet"))
                let watchers = try Neighbours.Machine.allCases.map { try neighbours.watch($0) }
                try withExtendedLifetime(watchers) {
                    try wait(until: "it is told") { try neighbours.run(machine, "pairs").output.isEmpty }
                }
            }
            #expect(try neighbours.run(machine.other, "pairs").output.isEmpty)
        }

        @Test func pairsHaveNamesAndRights() throws {
            let neighbours = try Neighbours()
            try neighbours.pair()
            #expect(try neighbours.run(.desk, "rename", "tablet", "the kitchen's").code == 0)
            #expect(try neighbours.run(.desk, "permit", "the kitchen's", "watch,controls").code == 0)
            let json = try neighbours.run(.desk, "pairs", "--json").output
            #expect(json.contains(#""name":"the kitchen's""#) && json.contains(#""rights":["watch","controls"]"#))
            for secret in ["secret", "resolving"] { #expect(!json.contains(secret)) }
            #expect(try neighbours.run(.desk, "permit", "the kitchen's", "everything").code == 64)
            #expect(try neighbours.run(.desk, "permit", "the kitchen's", "none").code == 0)
            #expect(try neighbours.run(.desk, "pairs").output.hasPrefix("the kitchen's: no rights, since"))
            let unknown = try neighbours.run(.desk, "unpair", "tablet")
            #expect(unknown.code == 1 && unknown.errorOutput.contains(#"no pair is called tablet: see "oriel pairs""#))
            // Without a right, a line is not shown.
            let watcher = try neighbours.watch(.desk)
            try watcher.wait(until: "it is announced") { !$0.isEmpty }
            let told = try neighbours.run(.tablet, "tell", "desk", "a line")
            #expect(told.code == 77 && told.errorOutput.contains("desk takes no lines of this device"))
            #expect(watcher.changes.allSatisfy { $0.event != "message" })
        }

        /// A file that is not this program's, torn, or open to others is refused with a sentence, and stays as it is.
        @Test(arguments: ["garbage\n", "{\"secret\":\"00\"}\n", "{", ""])
        func aBadFileOfPairsStays(text: String) throws {
            let neighbours = try Neighbours()
            try neighbours.pair()
            // The process of the pairing may still note where the other side is.
            try neighbours.waitUntilGone(.desk)
            let path = "\(neighbours.folder(.desk))/pairs"
            let good = String(decoding: try contents(of: path), as: UTF8.self)
            let bad = text.isEmpty ? String(good.dropLast(5)) : text
            try FileDescriptor.open(path, O_WRONLY | O_TRUNC).write(bad)
            for words in [["pairs"], ["nearby"], ["unpair", "tablet"]] {
                let result = try CommandResult(
                    neighbours.at(.desk, [Programs.oriel] + words),
                    environment: neighbours.environment(.desk)
                )
                #expect(result.code == 1 && result.errorOutput.contains("is damaged"), "\(words) \(result.errorOutput)")
            }
            #expect(String(decoding: try contents(of: path), as: UTF8.self) == bad)
        }
    }
}
