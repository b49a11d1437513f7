import HTTP
import NIOHTTP1

/// The viewer's page: files that are part of the program.
enum WebPage {
    /// Allows scripts and styles from the page's own files alone, and nothing from elsewhere.
    private static let policy = """
        default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; \
        media-src 'self' blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'
        """

    /// The file at a path; nil if the page has none there.
    static func response(to path: String) -> HTTPResponse? {
        switch path {
        case "/", "/index.html": file(PackageResources.index_html, "text/html")
        case "/common.css": file(PackageResources.common_css, "text/css")
        case "/oriel.css": file(PackageResources.oriel_css, "text/css")
        case "/oriel.js": file(PackageResources.oriel_js, "text/javascript")
        case "/session.js": file(PackageResources.session_js, "text/javascript")
        case "/sender.js": file(PackageResources.sender_js, "text/javascript")
        case "/doubt.js": file(PackageResources.doubt_js, "text/javascript")
        case "/time.js": file(PackageResources.time_js, "text/javascript")
        case "/ice-servers.js": file(PackageResources.ice_servers_js, "text/javascript")
        case "/controls.js": file(PackageResources.controls_js, "text/javascript")
        case "/knock.js": file(PackageResources.knock_js, "text/javascript")
        case "/playback.js": file(PackageResources.playback_js, "text/javascript")
        case "/picture.js": file(PackageResources.picture_js, "text/javascript")
        case "/statistics.js": file(PackageResources.statistics_js, "text/javascript")
        case "/sound.js": file(PackageResources.sound_js, "text/javascript")
        case "/talk.js": file(PackageResources.talk_js, "text/javascript")
        case "/record.js": file(PackageResources.record_js, "text/javascript")
        case "/command.js": file(PackageResources.command_js, "text/javascript")
        case "/zoom.js": file(PackageResources.zoom_js, "text/javascript")
        case "/follow.js": file(PackageResources.follow_js, "text/javascript")
        case "/lease.js": file(PackageResources.lease_js, "text/javascript")
        case "/icon.svg": file(PackageResources.icon_svg, "image/svg+xml")
        default: nil
        }
    }

    /// A file of a room's page. Any other path of one name is a room's.
    static func roomResponse(to path: String, _ iceServerLinks: () -> [String]) -> HTTPResponse? {
        switch path {
        case "/common.css": file(PackageResources.common_css, "text/css")
        case "/knock.js": file(PackageResources.knock_js, "text/javascript")
        case "/playback.js": file(PackageResources.playback_js, "text/javascript")
        case "/room.css": file(PackageResources.room_css, "text/css")
        case "/room.js": file(PackageResources.room_js, "text/javascript")
        case "/room-session.js": file(PackageResources.room_session_js, "text/javascript")
        case "/ice-servers.js": file(PackageResources.ice_servers_js, "text/javascript")
        case "/icon.svg": file(PackageResources.icon_svg, "image/svg+xml")
        default: path.dropFirst().contains("/") ? nil : room(iceServerLinks())
        }
    }

    private static func room(_ iceServerLinks: [String]) -> HTTPResponse {
        var response = file(PackageResources.room_html, "text/html")
        for link in iceServerLinks { response.headers.add(name: "Link", value: link) }
        return response
    }

    private static func file(_ bytes: [UInt8], _ type: String) -> HTTPResponse {
        var response = HTTPResponse(
            .ok,
            [
                "Content-Type": "\(type); charset=utf-8",
                "Content-Security-Policy": policy,
                "Cross-Origin-Opener-Policy": "same-origin",
                "Referrer-Policy": "no-referrer",
                "Cache-Control": "no-cache",
            ],
            body: bytes
        )
        response.isBodyShared = true
        return response
    }
}
