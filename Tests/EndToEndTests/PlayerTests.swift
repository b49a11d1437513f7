import Glibc
import TestSupport
import Testing

/// Players of other origins, in the manners of those that others wrote (`Tests/Peers/player.js`).
extension WebTests {
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
                let command = ["/usr/bin/python3", "-u", "-m", "http.server", "\(port)", "--directory", Peers.path("")]
                process = try Subprocess(network.atViewer(command))
                let process = process
                try wait(until: "the player is served") { process.output.contains("Serving") }
            }

            deinit { process.stop() }
        }

        private func play(
            _ browser: Browser,
            _ web: WebBroadcast,
            token: String? = WebBroadcast.token,
            order: String = "['video', 'audio']",
            policy: String = "balanced",
            manner: String
        ) throws -> Seen {
            let token = token.map { "'\($0)'" } ?? "null"
            let script = """
                play({url: '\(web.whep)', token: \(token), order: \(order), bundlePolicy: '\(policy)', manner: '\(manner)'})
                """
            return try browser.evaluate(script)
        }

        @Test(arguments: Browser.Kind.allCases, ["early", "late", "whole"])
        func everyOrderAndBundlePolicyPlaysAndRestarts(kind: Browser.Kind, manner: String) throws {
            let web = try WebBroadcast()
            let counter = try draw("counter", on: web.server, "--fps", "30")
            let site = try PlayerSite(in: web.network)
            let browser = try web.open(kind, page: site.page)
            for order in ["['video', 'audio']", "['audio', 'video']"] {
                for policy in ["balanced", "max-compat", "max-bundle"] {
                    let seen = try play(browser, web, order: order, policy: policy, manner: manner)
                    #expect(seen.isRestarted, "\(order) \(policy)")
                    #expect(seen.fields[0] != nil && seen.fields[1] != nil, "\(order) \(policy)")
                    #expect(seen.directions.count { $0 == "recvonly" } == 1, "\(order) \(policy): \(seen.directions)")
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
            let seen = try play(browser, web, token: nil, order: "['audio', 'video']", manner: "late")
            #expect(seen.isRestarted)
            #expect(seen.links?.contains("rel=\"ice-server\"; username=\"u\"") == true)
            #expect(seen.links == seen.fields[2])
            let other = try PlayerSite(in: web.network, port: 9001)
            try browser.open(other.page)
            for manner in ["early", "late", "whole"] {
                #expect(throws: Browser.Failure.self) { try play(browser, web, token: nil, manner: manner) }
            }
            #expect(!web.sender.errorOutput.contains("viewer 2"))
            counter.stop()
        }
    }
}
