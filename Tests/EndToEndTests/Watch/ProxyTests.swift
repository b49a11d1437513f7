import Glibc
import Posix
import TestSupport
import Testing

/// The page behind nginx, which adds a path and TLS.
extension Watch {
    @Suite struct ProxyTests {
        /// In front of a sender at port 8080 of the loopback.
        private final class WebProxy {
            static let port = 8081
            static let tlsPort = 8443
            private static let paths = ["/", "/screen/", "/a/deeper/path/"]

            static let pages =
                paths.map { "http://\(Network.senderAddress):\(port)\($0)" }
                + paths.map { "https://\(Network.senderAddress):\(tlsPort)\($0)" }

            private let folder: TemporaryDirectory
            private let process: Subprocess

            init(in network: Network) throws {
                let folder = try TemporaryDirectory(of: .shared)
                self.folder = folder
                let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map { kind in
                    "\(kind)_temp_path \(folder.file(kind));"
                }
                let locations = Self.paths.map { path in
                    """
                    location \(path) {
                        proxy_pass http://127.0.0.1:8080/;
                        proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
                    }
                    """
                }
                let (key, certificate) = try makeCertificate(for: ["oriel.test"], in: folder)
                let configuration = """
                    daemon off;
                    user root;
                    pid \(folder.file("pid"));
                    error_log stderr notice;
                    events {}
                    http {
                        access_log off;
                        \(temporary.joined(separator: "\n"))
                        server {
                            listen \(Network.senderAddress):\(Self.port);
                            listen \(Network.senderAddress):\(Self.tlsPort) ssl;
                            ssl_certificate \(certificate);
                            ssl_certificate_key \(key);
                            \(locations.joined(separator: "\n"))
                        }
                    }
                    """
                let file = folder.file("nginx.conf")
                try FileDescriptor.open(file, O_WRONLY | O_CREAT | O_TRUNC).write(configuration)
                process = try Subprocess(network.atSender(["/usr/sbin/nginx", "-e", "stderr", "-c", file]))
                let process = process
                try process.wait(until: "nginx runs") { process.errorOutput.contains("start worker process ") }
            }

            deinit { process.stop() }
        }

        @Test(arguments: Browser.Kind.allCases)
        func thePageWorksAtEveryPath(kind: Browser.Kind) throws {
            let web = try WebBroadcast("--listen", "127.0.0.1:8080", "--proxy", "127.0.0.0/8")
            let proxy = try WebProxy(in: web.network)
            let browser = try web.open(kind, page: "about:blank")
            // Firefox trusts no certificate that nobody knows.
            let pages = WebProxy.pages.filter { kind == .chromium || $0.hasPrefix("http:") }
            for page in pages {
                let before = web.sender.errorLines.count
                // A page that is slow begins anew, as another viewer.
                func newcomer() -> Substring? {
                    let last = web.sender.errorLines.dropFirst(before).last {
                        $0.contains(" looks in from \(Network.viewerAddress)")
                    }
                    return last?.firstMatch(of: /viewer \d+/)?.output
                }
                try browser.open("\(page)#\(WebBroadcast.token)")
                try browser.wait(forState: "live")
                try wait(until: "who looks in is known by its own address") { newcomer() != nil }
                let snapshot = """
                    (await fetch('snapshot.png', {headers: {Authorization: 'Bearer \(WebBroadcast.token)'}})).status
                    """
                #expect(try browser.evaluate(snapshot, as: Int.self) == 200, "\(page)")
                // The events come as they happen.
                #expect(try web.broadcast.run("pause").code == 0)
                try browser.wait(forState: "paused")
                #expect(try web.broadcast.run("resume").code == 0)
                try browser.wait(forState: "live")
                // The session's own address is right too.
                let resource = """
                    performance.getEntriesByType('resource').map(({name}) => name).find(name => name.includes('/whep/'))
                    """
                try wait(until: "candidates follow") { try browser.evaluateOptional(resource, as: String.self) != nil }
                #expect(try browser.evaluate(resource, as: String.self).hasPrefix("\(page)whep/"))
                try browser.open("about:blank")
                try wait(until: "the viewer has left") {
                    newcomer().map { viewer in
                        web.sender.errorOutput.contains("\(viewer) from \(Network.viewerAddress) left")
                    } ?? false
                }
            }
            withExtendedLifetime(proxy) {}
        }

        /// The events go through the proxy, and the picture past it.
        @Test(arguments: Browser.Kind.allCases)
        func theSessionOutlivesTheProxy(kind: Browser.Kind) throws {
            let web = try WebBroadcast("--listen", "127.0.0.1:8080", "--proxy", "127.0.0.0/8")
            var proxy: WebProxy? = try WebProxy(in: web.network)
            let browser = try web.open(kind, page: "\(WebProxy.pages[0])#\(WebBroadcast.token)")
            try browser.wait(forState: "live")
            let _: Bool? = try browser.evaluateOptional("(oriel.pc.isFirst = true)")
            proxy = nil
            #expect(try web.broadcast.run("pause").code == 0)
            let before = try browser.framesDecoded
            try wait(until: "pictures come") { try browser.framesDecoded > before + 2 }
            // Nothing tells of the pause.
            try browser.wait(forState: "live")
            proxy = try WebProxy(in: web.network)
            try browser.wait(forState: "paused")
            #expect(try web.broadcast.run("resume").code == 0)
            try browser.wait(forState: "live")
            #expect(try browser.evaluate("oriel.pc.isFirst ?? false", as: Bool.self))
            withExtendedLifetime(proxy) {}
        }

        /// The proxy asks by the name that it knows the sender by, and pages have the proxy's.
        @Test func withoutATokenTheProxysOriginIsAllowed() throws {
            let origin = "http://\(Network.senderAddress):\(WebProxy.port)"
            let web = try WebBroadcast("--listen", "127.0.0.1:8080", "--token", "none", "--allow-origin", origin)
            let proxy = try WebProxy(in: web.network)
            let browser = try web.open(.chromium, page: "\(origin)/screen/")
            try browser.wait(forState: "live")
            withExtendedLifetime(proxy) {}
        }
    }
}
