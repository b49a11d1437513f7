import NIOCore
import NIOSSL

extension Channel {
    /// Closes the connection without the goodbye of TLS, for which the other side's would be waited for, with all that is to be
    /// written. Call it on the connection's event loop.
    func cut() {
        let operations = pipeline.syncOperations
        let context =
            (try? operations.context(handlerType: NIOSSLServerHandler.self))
            ?? (try? operations.context(handlerType: NIOSSLClientHandler.self))
        if let context { context.close(promise: nil) } else { close(promise: nil) }
    }
}
