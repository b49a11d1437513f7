import NIOCore
import NIOSSL

extension Channel {
    /// Closes the connection at once, and drops all waiting bytes. It sends no close_notify of TLS, which would wait
    /// for that of the other side. Call it on the connection's event loop.
    func cut() {
        let operations = pipeline.syncOperations
        let context =
            (try? operations.context(handlerType: NIOSSLServerHandler.self))
            ?? (try? operations.context(handlerType: NIOSSLClientHandler.self))
        if let context { context.close(promise: nil) } else { close(promise: nil) }
    }
}
