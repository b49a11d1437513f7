package import Calls
import Configuration

extension CallKinds {
    /// The kinds by which command lines are read.
    package static let own = CallKinds()

    /// The kinds of a sender.
    ///
    /// - Parameter sdp: the file for the description of a plain call of the start; nil for standard output.
    init(web: WebSettings? = nil, _ introduction: Introduction? = nil, sdp: String? = nil) {
        self.init([
            .web(web),
            .room(name: introduction?.name ?? "", note: introduction?.note ?? ""),
            .whip,
            .janus,
            .cmaf,
            .plainRTP { try SDPPublisher(path: sdp).publish },
        ])
    }
}
