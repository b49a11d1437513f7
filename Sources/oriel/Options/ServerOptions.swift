import ArgumentParser
import Configuration
import HTTP

struct ServerOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Where to serve: PORT, HOST:PORT or [IPV6]:PORT; port 8080 of all addresses if not given.",
            valueName: "address"
        ),
        transform: { try ListenAddress(spelling: $0) }
    )
    var listen = ServerSettings().listen

    @Option(
        help: ArgumentHelp(
            "Certificate for HTTPS with its chain, as PEM; needs --tls-key. The links are to the hosts it names.",
            valueName: "file"
        )
    )
    var tlsCert: String?

    @Option(help: ArgumentHelp("Key of the certificate, as PEM.", valueName: "file"))
    var tlsKey: String?

    @Flag(
        help: ArgumentHelp(
            "Serve HTTPS with a certificate of this machine's own, which is made once and kept. Browsers ask once whether to trust it; "
                + "its fingerprint is printed. Without HTTPS they lend a page no microphone."
        )
    )
    var https = false

    @Option(
        help: ArgumentHelp(
            "Address of a web proxy in front of this server; its X-Forwarded-For names the clients. May be given again.",
            valueName: "address[/bits]"
        ),
        transform: { try AddressRange(spelling: $0) }
    )
    var proxy: [AddressRange] = []

    func validate() throws {
        guard (tlsCert == nil) == (tlsKey == nil) else {
            throw ValidationError("--tls-cert and --tls-key need each other.")
        }
        if https, tlsCert != nil { throw ValidationError("--https makes a certificate: leave it out with --tls-cert.") }
    }

    var settings: ServerSettings {
        var settings = ServerSettings()
        settings.listen = listen
        (settings.certificate, settings.key, settings.makesCertificate) = (tlsCert, tlsKey, https)
        settings.proxies = proxy
        return settings
    }
}
