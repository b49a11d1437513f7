import Asking
import Calls
import Configuration

/// A command that attaches a sender, by the options that such commands have in common.
protocol SenderCommand {
    var broadcast: BroadcastOptions { get }
    var video: VideoOptions { get }
    var entry: AcceptOptions { get }
    var talk: TalkOptions { get }
    var desktop: DesktopOptions { get }
    var web: WebOptions { get }
    var joined: JoinedCallOptions { get }
    var room: RoomOptions { get }
    var sending: SenderOptions { get }
}

extension SenderCommand {
    /// What these options say. A token that is not given is chosen here, so that a sender that is started again has the same.
    func settings(for calls: [CallPlan]) throws -> SenderProcessSettings {
        var settings = SenderProcessSettings(of: try broadcast.path, into: calls.map(\.argument))
        settings.video = video.settings
        (settings.access.accept, settings.access.answerTimeout) = (entry.accept, entry.answerTimeout)
        (settings.access.viewersRecord, settings.access.lease) = (entry.viewersRecord, entry.lease?.seconds)
        (settings.access.viewersControl, settings.access.showsPeople) = (entry.viewersControl, entry.viewersSeeNames)
        (settings.desktop, settings.video.legibility) = (desktop.settings, desktop.legibility)
        (settings.talk.talkback, settings.talk.talkers) = (talk.talkback, talk.talkers)
        (settings.web, settings.credentials) = (try web.settings, joined.settings)
        (settings.introduction.name, settings.introduction.note) = (room.name, room.note)
        (settings.files.statistics, settings.files.events) = (sending.stats, sending.events)
        (settings.conduct.wakesEarly, settings.conduct.terminalGroup) = (sending.wake, Asker.terminalGroup)
        return settings
    }
}
