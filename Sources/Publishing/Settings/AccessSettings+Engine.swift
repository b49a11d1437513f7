import Access
import Configuration
import FrameBridge
import Helpers
import Media

extension AccessSettings {
    /// Who need not knock, and how long the others wait. If the file of those who are known is damaged, that is told, and there are none.
    func engine(countingFrom number: Int) -> AccessEngine.Settings {
        var settings = AccessEngine.Settings()
        settings.asks = accept != .all
        settings.patience = .seconds(answerTimeout)
        settings.guests = guests()
        settings.firstKnock = number
        settings.lease = lease
        if viewersRecord { settings.rights.insert(.record) }
        if viewersControl { settings.rights.insert(.controls) }
        return settings
    }

    private func guests() -> [Guest] {
        guard accept == .known else { return [] }
        do {
            return try GuestStore().load().map { Guest(key: $0.key, name: $0.name) }
        } catch {
            Console.note("\(error)")
            return []
        }
    }
}

extension TalkSettings {
    /// Makes the ring for what viewers say, before the process gives up files.
    ///
    /// - Parameter folder: the sender's; nil if it could not be made.
    /// - Returns: nil without `--talkback`, or if the ring cannot be made, which is told.
    func ring(in folder: ProcessFolder?) -> sending SoundWriter? {
        guard talkback != .off, let folder else { return nil }
        do throws(BridgeError) { return try SoundWriter(talkIn: folder) } catch {
            Console.note("\(error); viewers are not heard")
            return nil
        }
    }
}
