import Glibc

/// Janus, a media server, as Debian packages it. Its configuration is written for each.
package final class Janus {
    package static let server = server(at: Network.viewerAddress)
    /// Its API over HTTP.
    package static let httpServer = "http://\(Network.viewerAddress):8088/janus"

    private let folder: TemporaryDirectory
    private let place: ([String]) -> [String]
    package private(set) var process: Subprocess

    /// Starts it, and waits until it listens.
    ///
    /// - Parameters:
    ///   - place: where its command line runs.
    ///   - host: its address, as a URL has it.
    ///   - rooms: by their numbers or names, with their settings as a file of Janus has them, such as `publishers = 6`.
    ///   - streaming: the configuration of that plugin: mountpoints.
    ///   - general: more settings of the server.
    ///   - videoRoom: more settings of the plugin.
    package init(
        at place: @escaping ([String]) -> [String],
        host: String,
        rooms: [(name: String, settings: String)] = [],
        streaming: String = "",
        general: String = "",
        videoRoom: String = ""
    ) throws {
        let folder = try TemporaryDirectory()
        (self.folder, self.place) = (folder, place)
        let libraries = "/usr/lib/x86_64-linux-gnu/janus"
        try Self.write(
            """
            general: {
              configs_folder = "\(folder.path)"
              plugins_folder = "\(libraries)/plugins"
              transports_folder = "\(libraries)/transports"
              \(general)
            }
            media: { ipv6 = \(host.hasPrefix("[")), rtp_port_range = "20000-29999" }
            nat: { ice_enforce_list = "\(host.filter { !"[]".contains($0) })" }
            plugins: { disable = "\(Self.libraries("sip nosip lua duktape voicemail audiobridge recordplay videocall"))" }
            transports: { disable = "\(Self.libraries("mqtt nanomsg rabbitmq pfunix"))" }
            """,
            to: folder.file("janus.jcfg")
        )
        try Self.write(
            "general: { json = \"compact\", ws = true, ws_port = 8188 }",
            to: folder.file("janus.transport.websockets.jcfg")
        )
        try Self.write(
            "general: { json = \"compact\", http = true, port = 8088, base_path = \"/janus\" }",
            to: folder.file("janus.transport.http.jcfg")
        )
        let roomTexts = rooms.map { "room-\($0.name): { \($0.settings) }" }
        try Self.write(
            (["general: { \(videoRoom) }"] + roomTexts).joined(separator: "\n"),
            to: folder.file("janus.plugin.videoroom.jcfg")
        )
        try Self.write(streaming, to: folder.file("janus.plugin.streaming.jcfg"))
        process = try Self.start(folder, place)
    }

    /// The same at the viewers' end of a network.
    package convenience init(
        in network: Network,
        rooms: [(name: String, settings: String)] = [],
        streaming: String = "",
        general: String = "",
        videoRoom: String = ""
    ) throws {
        try self.init(
            at: network.atViewer,
            host: network.viewerHost,
            rooms: rooms,
            streaming: streaming,
            general: general,
            videoRoom: videoRoom
        )
    }

    deinit { process.stop() }

    private static func server(at host: String) -> String { "ws://\(host):8188" }

    /// The address of a room for `oriel attach`.
    ///
    /// - Parameter host: of the viewers' end.
    package static func call(_ room: String, at host: String = Network.viewerAddress) -> String {
        "janus+\(server(at: host))/\(room)"
    }

    /// The page of a viewer.
    ///
    /// - Parameters:
    ///   - choice: such as `room=1234` or `mountpoint=1`.
    ///   - host: of the viewers' end.
    package static func page(_ choice: String, at host: String = Network.viewerAddress) -> String {
        "file://\(Counterparts.path("janus.html"))#server=\(server(at: host))&\(choice)"
    }

    package func kill() throws {
        process.kill(SIGKILL)
        _ = try process.wait()
    }

    package func start() throws { process = try Self.start(folder, place) }

    private static func start(_ folder: TemporaryDirectory, _ place: ([String]) -> [String]) throws -> Subprocess {
        let process = try Subprocess(
            place(["janus", "-F", folder.path, "-C", folder.file("janus.jcfg"), "--disable-colors"])
        )
        try wait(until: "Janus listens") {
            if let exit = process.status() { throw Browser.Failure(description: "\(exit): \(process.output)") }
            return process.output.contains("WebSockets thread started")
                && process.output.contains("HTTP webserver started")
        }
        return process
    }

    private static func libraries(_ names: String) -> String {
        names.split(separator: " ").map { "libjanus_\($0).so" }.joined(separator: ",")
    }

    private static func write(_ text: String, to path: String) throws {
        guard let file = fopen(path, "w") else { throw Browser.Failure(description: "cannot write \(path)") }
        fputs(text, file)
        fclose(file)
    }
}
