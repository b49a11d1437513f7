import Glibc
import TestSupport
import Testing

/// Players of other origins, in the manners of those that others wrote (`Tests/Counterparts/player.js`).
extension Watch {
    @Suite struct PlayerTests {
        private struct Seen: Decodable {
            let fields: [String?]
            let links: String?
            let directions: [String]
            let isRestarted: Bool
        }

        /// Serves the player at the viewers' end until it is released.
        private final class PlayerSite {
            private let process: Subprocess
            let origin: String
            var page: String { "\(origin)/player.html" }

            init(in network: Network, port: UInt16 = 9000) throws {
                origin = "http://\(Network.viewerAddress):\(port)"
                let command = [
                    "/usr/bin/python3", "-u", "-m", "http.server", "\(port)", "--directory", Counterparts.path(""),
                ]
                process = try Subprocess(network.atViewer(command))
                let process = process
                try process.wait(until: "the player is served") { process.output.contains("Serving") }
            }

            deinit { process.stop() }
        }

        /// The expression that plays.
        private func player(
            of web: WebBroadcast,
            token: String? = WebBroadcast.token,
            order: String = "['video', 'audio']",
            policy: String = "balanced",
            manner: String
        ) -> String {
            let token = token.map { "'\($0)'" } ?? "null"
            return """
                play({url: '\(web.whep)', token: \(token), order: \(order), bundlePolicy: '\(policy)', manner: '\(manner)'})
                """
        }

        /// The policies at the same time, as that takes the third of it.
        @Test(arguments: Browser.Kind.allCases)
        func everyOrderAndBundlePolicyPlaysAndRestarts(kind: Browser.Kind) throws {
            let web = try WebBroadcast()
            let counter = try draw("counter", on: web.server, "--fps", "30")
            let site = try PlayerSite(in: web.network)
            let browser = try web.open(kind, page: site.page)
            let policies = ["balanced", "max-compat", "max-bundle"]
            for manner in ["early", "late", "whole"] {
                for order in ["['video', 'audio']", "['audio', 'video']"] {
                    let players = policies.map { player(of: web, order: order, policy: $0, manner: manner) }
                    let all = "Promise.all([\(players.joined(separator: ", "))])"
                    for (policy, seen) in zip(policies, try browser.evaluate(all, as: [Seen].self)) {
                        let what = "\(manner) \(order) \(policy)"
                        #expect(seen.isRestarted, "\(what)")
                        #expect(seen.fields[0] != nil && seen.fields[1] != nil, "\(what)")
                        #expect(seen.directions == ["recvonly", "recvonly"], "\(what)")
                    }
                }
            }
            counter.stop()
        }

        @Test(arguments: Browser.Kind.allCases)
        func withoutATokenAllowedOriginsPlayAndOthersDoNot(kind: Browser.Kind) throws {
            let web = try WebBroadcast(
                "--token",
                "none",
                "--allow-origin",
                "http://\(Network.viewerAddress):9000",
                "--turn",
                "u:p@\(Network.senderAddress)"
            )
            let counter = try draw("counter", on: web.server, "--fps", "30")
            let site = try PlayerSite(in: web.network)
            let browser = try web.open(kind, page: site.page)
            let late = player(of: web, token: nil, order: "['audio', 'video']", manner: "late")
            let seen: Seen = try browser.evaluate(late)
            #expect(seen.isRestarted)
            #expect(seen.links?.contains("rel=\"ice-server\"; username=\"u\"") == true)
            #expect(seen.links == seen.fields[2])
            let other = try PlayerSite(in: web.network, port: 9001)
            try browser.open(other.page)
            for manner in ["early", "late", "whole"] {
                let refused = player(of: web, token: nil, manner: manner)
                #expect(throws: Browser.Failure.self) { try browser.evaluate(refused, as: Seen.self) }
            }
            #expect(!web.sender.errorOutput.contains("viewer 2"))
            counter.stop()
        }
    }
}
